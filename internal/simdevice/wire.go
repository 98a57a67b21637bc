package simdevice

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The messages of the adb transport. Each is four letters, read as a number with the little end first.
const (
	msgConnect = 0x4e584e43 // CNXN: version, largest payload, banner
	msgAuth    = 0x48545541 // AUTH: kind, 0, token, signature or key
	msgOpen    = 0x4e45504f // OPEN: sender's id, 0, service
	msgReady   = 0x59414b4f // OKAY: sender's id, receiver's id
	msgWrite   = 0x45545257 // WRTE: sender's id, receiver's id, bytes
	msgClose   = 0x45534c43 // CLSE: sender's id, receiver's id
)

const (
	// protocolVersion is the one in which both sides send checksums; every server still speaks it.
	protocolVersion = 0x01000000
	maxPayload      = 256 << 10
	headerSize      = 24
	authToken       = 1
	tokenSize       = 20
)

type message struct {
	kind, arg0, arg1 uint32
	data             []byte
}

func readMessage(r io.Reader) (message, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return message{}, fmt.Errorf("reading a header: %w", err)
	}
	le := binary.LittleEndian
	m := message{kind: le.Uint32(h[0:]), arg0: le.Uint32(h[4:]), arg1: le.Uint32(h[8:])}
	if le.Uint32(h[20:]) != ^m.kind {
		return message{}, fmt.Errorf("header %x is not of the adb protocol", h)
	}
	n := le.Uint32(h[12:])
	if n > maxPayload {
		return message{}, fmt.Errorf("a payload of %d bytes is larger than %d", n, maxPayload)
	}
	m.data = make([]byte, n)
	if _, err := io.ReadFull(r, m.data); err != nil {
		return message{}, fmt.Errorf("reading a payload of %d bytes: %w", n, err)
	}
	return m, nil
}

// encode is m as it goes over the wire.
func (m message) encode() []byte {
	var sum uint32
	for _, b := range m.data {
		sum += uint32(b)
	}
	out := make([]byte, headerSize, headerSize+len(m.data))
	for i, v := range []uint32{m.kind, m.arg0, m.arg1, uint32(len(m.data)), sum, ^m.kind} {
		binary.LittleEndian.PutUint32(out[4*i:], v)
	}
	return append(out, m.data...)
}

package simdevice

import (
	"context"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"slices"
)

// The screen's size in pixels.
const (
	ScreenWidth  = 540
	ScreenHeight = 1200
)

// Screen is what the phone shows: a bar of a few blocks that no other serial has, on a colour of the serial's own.
func (p *Phone) Screen() image.Image {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(p.options.Serial)) // a hash takes everything
	bits := sum.Sum64()
	dim := func(shift int) uint8 { return uint8(bits>>shift)/2 + 32 }
	screen := image.NewPaletted(image.Rect(0, 0, ScreenWidth, ScreenHeight), color.Palette{
		color.RGBA{dim(0), dim(8), dim(16), 255}, color.White,
	})
	const block = ScreenWidth / 16
	for i := range 64 {
		if bits>>i&1 == 0 {
			continue
		}
		left, top := i%16*block, ScreenHeight/3+i/16*block
		for y := top; y < top+block; y++ {
			for x := left; x < left+block; x++ {
				screen.SetColorIndex(x, y, 1)
			}
		}
	}
	return screen
}

// screencap writes the screen as a PNG.
func screencap(_ context.Context, sh *shell, args []string) int {
	if !slices.Equal(args, []string{"-p"}) {
		sh.complain("screencap: this phone knows -p only, without a file")
		return codeUsage
	}
	if err := png.Encode(sh.stdout, sh.phone.Screen()); err != nil {
		return codeUsage // the stream is gone
	}
	return 0
}

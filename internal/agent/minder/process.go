package minder

// process is one line of the system's process table.
type process struct {
	identity
	parent, group int
	dead          bool // a zombie: it does nothing any more
}

// identity is what stays the same for a process's whole life, and is no other's.
type identity struct {
	pid   int
	start uint64 // the system's own measure
}

// descendants picks from table those that descend from the process root, by parents.
func descendants(table []process, root int) map[int]bool {
	children := make(map[int][]int)
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	found := make(map[int]bool)
	for open := []int{root}; len(open) > 0; {
		parent := open[len(open)-1]
		open = open[:len(open)-1]
		for _, pid := range children[parent] {
			if !found[pid] && pid != root {
				found[pid] = true
				open = append(open, pid)
			}
		}
	}
	return found
}

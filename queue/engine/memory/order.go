package memory

import "cmp"

// order is a heap of tasks, the longest due first.
type order []*task

func (t *task) compare(u *task) int {
	return cmp.Or(t.pullable().Compare(u.pullable()), cmp.Compare(t.number, u.number))
}

func (o order) Len() int           { return len(o) }
func (o order) Less(i, j int) bool { return o[i].compare(o[j]) < 0 }

func (o order) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

// Push is for package heap.
func (o *order) Push(x any) {
	t := x.(*task)
	t.place = len(*o)
	*o = append(*o, t)
}

// Pop is for package heap.
func (o *order) Pop() any {
	last := len(*o) - 1
	t := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return t
}

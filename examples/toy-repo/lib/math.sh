# add A B: the sum. Broken on purpose: the tasks in examples/tasks have it mended.
add() {
    echo $(($1 - $2))
}

# double A: twice as much.
double() {
    echo $(($1 * 2))
}

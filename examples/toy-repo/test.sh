#!/bin/sh
# Tests lib/math.sh, and writes report.xml in JUnit's format.
. ./lib/math.sh

cases=
failed=0

check() { # NAME GOT WANTED
    if [ "$2" = "$3" ]; then
        echo "ok $1"
        cases="$cases<testcase classname=\"math\" name=\"$1\"/>"
    else
        echo "not ok $1: $2 instead of $3"
        cases="$cases<testcase classname=\"math\" name=\"$1\"><failure message=\"$2 instead of $3\"/></testcase>"
        failed=$((failed + 1))
    fi
}

check add "$(add 2 3)" 5
check double "$(double 4)" 8
echo "<testsuites><testsuite name=\"toy\">$cases</testsuite></testsuites>" >report.xml
[ "$failed" = 0 ]

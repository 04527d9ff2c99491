#!/bin/bash
# job.sh psql|mariadb WORDS…: the job of this folder's README with a command line client.
{
  [ "$1" = psql ] && prepare='PREPARE one AS SELECT first_name FROM employees WHERE emp_no = $1;' execute='EXECUTE one(%d);\n'
  [ "$1" = psql ] || prepare="PREPARE one FROM 'SELECT first_name FROM employees WHERE emp_no = ?';" execute='EXECUTE one USING %d;\n'
  printf 'SELECT emp_no, salary FROM salaries WHERE emp_no = %d;\n' {1..20}
  echo 'SELECT emp_no, first_name, last_name FROM employees ORDER BY emp_no LIMIT 300;'
  echo "$prepare"
  printf "$execute" 1 2 3
  echo 'SELECT nothing FROM nowhere;'
} | { rows=$("$@" 2>/dev/null | wc -l); echo "{\"client\": \"$("$1" --version | head -1)\", \"statements\": 25, \"rows\": $rows, \"errors\": 1}"; }

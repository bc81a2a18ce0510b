#!/bin/sh
awk -F, '{ total += $2 * $3 } END { print total }' /app/invoice.csv >/app/total.txt

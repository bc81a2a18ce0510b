#!/bin/sh
if [ "$(cat /app/total.txt)" = 662 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt

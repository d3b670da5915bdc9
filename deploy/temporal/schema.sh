#!/bin/sh
# Makes Temporal's two databases and brings their tables up to this image's version. Again changes nothing.
# The password comes as SQL_PASSWORD.
set -eu

tool() { temporal-sql-tool --plugin postgres12 --ep postgres -p 5432 -u turnkeep "$@"; }

for store in temporal:temporal temporal_visibility:visibility; do
  database=${store%:*} folder=${store#*:}
  tool --db "$database" create
  tool --db "$database" setup-schema -v 0.0
  tool --db "$database" update-schema -d "/etc/temporal/schema/postgresql/v12/$folder/versioned"
done

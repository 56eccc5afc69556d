#!/bin/sh
# Creates the secrets of docker-compose.yml in ./secrets: passwords, key-encryption keys, and the database's
# certificate. Existing files are kept, so run it again after an upgrade. Needs only openssl.
#
# Back up the directory separately from the volumes of Docker: without keystore_key and mpc_party_<n>_key the keys are
# lost.
set -eu

directory=${1:-secrets}
umask 077
mkdir -p "$directory"
chmod 0700 "$directory"
cd "$directory"

# put NAME: writes standard input into a new file. The directory is private, so the containers' users may read the file.
put() {
  cat >"$1.new"
  chmod 0444 "$1.new"
  mv "$1.new" "$1"
  echo "made $(pwd)/$1"
}

missing() {
  [ ! -s "$1" ]
}

# database_url USER PASSWORD: TLS with a certificate verified against the authority below.
database_url() {
  echo "postgresql://$1:$2@postgres:5432/bursar?sslmode=verify-full&sslrootcert=/run/secrets/postgres_ca"
}

for name in postgres_password redis_password; do
  missing "$name" && openssl rand -hex 32 | put "$name"
done
for name in keystore_key mpc_party_1_key mpc_party_2_key mpc_party_3_key; do
  missing "$name" && openssl rand -base64 32 | put "$name"
done
missing redis_url && printf 'redis://default:%s@redis:6379\n' "$(cat redis_password)" | put redis_url

# A database user for each process. The migration creates them from database_logins.
logins=''
for name in api dispatcher signer submitter follower auditor operator party_1 party_2 party_3; do
  user="bursar_${name}_login"
  if missing "database_url_$name"; then
    database_url "$user" "$(openssl rand -hex 32)" | put "database_url_$name"
  fi
  password=$(sed "s|^postgresql://$user:||; s|@.*||" "database_url_$name")
  logins="$logins,$(echo "$name" | tr _ -)=$password"
done
missing database_url_owner && database_url bursar "$(cat postgres_password)" | put database_url_owner
missing database_logins && echo "${logins#,}" | put database_logins

# A private certificate authority signs the certificate of the host `postgres`; its key is deleted.
if missing postgres_key || missing postgres_certificate || missing postgres_ca; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 -subj '/CN=Bursar database CA' \
    -addext 'keyUsage=critical,keyCertSign' -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj '/CN=postgres' \
    -keyout "$work/server.key" -out "$work/server.csr" 2>/dev/null
  printf 'subjectAltName=DNS:postgres\n' >"$work/extensions"
  openssl x509 -req -in "$work/server.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 3650 \
    -extfile "$work/extensions" -out "$work/server.crt" 2>/dev/null
  put postgres_ca <"$work/ca.crt"
  put postgres_certificate <"$work/server.crt"
  put postgres_key <"$work/server.key"
fi

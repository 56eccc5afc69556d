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
for name in keystore_key transaction_tag_key mpc_party_1_key mpc_party_2_key mpc_party_3_key; do
  missing "$name" && openssl rand -base64 32 | put "$name"
done
missing redis_url && printf 'redis://default:%s@redis:6379\n' "$(cat redis_password)" | put redis_url

# A database user for each process. The migration creates them from database_logins.
logins=''
for name in api dispatcher signer submitter follower auditor sender operator party_1 party_2 party_3; do
  user="bursar_${name}_login"
  if missing "database_url_$name"; then
    database_url "$user" "$(openssl rand -hex 32)" | put "database_url_$name"
  fi
  password=$(sed "s|^postgresql://$user:||; s|@.*||" "database_url_$name")
  logins="$logins,$(echo "$name" | tr _ -)=$password"
done
missing database_url_owner && database_url bursar "$(cat postgres_password)" | put database_url_owner
# Also after an upgrade that adds a user.
[ "$(cat database_logins 2>/dev/null)" = "${logins#,}" ] || echo "${logins#,}" | put database_logins

# bech32 PREFIX HEX: as in BIP 173, in lower case.
bech32() {
  letters=qpzry9x8gf2tvdw0s3jn54khce6mua7l
  high='' low='' values='' bits=0 have=0
  for letter in $(printf %s "$1" | sed 's/./& /g'); do
    code=$(printf '%d' "'$letter")
    high="$high $((code >> 5))" low="$low $((code & 31))"
  done
  for byte in $(printf %s "$2" | sed 's/../0x& /g'); do
    bits=$((bits << 8 | byte)) have=$((have + 8))
    while [ "$have" -ge 5 ]; do
      have=$((have - 5))
      values="$values $((bits >> have & 31))"
    done
    bits=$((bits & (1 << have) - 1))
  done
  [ "$have" -eq 0 ] || values="$values $((bits << (5 - have) & 31))"
  sum=1
  for value in $high 0 $low $values 0 0 0 0 0 0; do
    top=$((sum >> 25))
    sum=$(((sum & 0x1ffffff) << 5 ^ value))
    for each in 0:0x3b6a57b2 1:0x26508e6d 2:0x1ea119fa 3:0x3d4233dd 4:0x2a1462b3; do
      [ $((top >> ${each%:*} & 1)) -eq 0 ] || sum=$((sum ^ ${each#*:}))
    done
  done
  sum=$((sum ^ 1))
  for place in 25 20 15 10 5 0; do values="$values $((sum >> place & 31))"; done
  text=''
  for value in $values; do text="$text$(printf %s "$letters" | cut -c $((value + 1)))"; done
  echo "${1}1$text"
}

# The age identity that opens the secrets of webhooks: an X25519 key.
if missing webhook_identity; then
  key=$(mktemp)
  openssl genpkey -algorithm X25519 -outform DER -out "$key"
  hex_of_end() { tail -c 32 | od -An -v -tx1 | tr -d ' \n'; }
  recipient=$(bech32 age "$(openssl pkey -inform DER -in "$key" -pubout -outform DER | hex_of_end)")
  identity=$(bech32 age-secret-key- "$(hex_of_end <"$key")" | tr a-z A-Z)
  rm -f "$key"
  printf '# recipient: %s\n%s\n' "$recipient" "$identity" | put webhook_identity
  echo "for webhooks, set WEBHOOK_RECIPIENT=$recipient in .env"
fi

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

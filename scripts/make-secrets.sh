#!/bin/sh
# Creates the secrets of docker-compose.yml in ./secrets: passwords, key-encryption keys, and the database's
# certificate. Existing files are kept, so run it again after an upgrade, or after it failed. Needs only openssl. Exit code 1, with one
# line: something was not made.
#
# Back up the directory separately from the volumes of Docker: without keystore_key and mpc_party_<n>_key the keys are
# lost.
set -eu

directory=${1:-secrets}
umask 077

fail() {
  echo "make-secrets.sh: $1" >&2
  exit 1
}

command -v openssl >/dev/null || fail 'openssl is not installed'
{ mkdir -p "$directory" && chmod 0700 "$directory" && cd "$directory"; } 2>/dev/null || fail "cannot make the directory $directory"
# For what openssl writes: removed at the end, however that comes.
work=$(mktemp -d 2>/dev/null) || fail 'cannot make a temporary directory'
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# put NAME TEXT: writes a new file, and gives it its name when all of it is written. The directory is private, so the containers'
# users may read the file.
put() {
  { rm -f "$1.new" && printf '%s\n' "$2" >"$1.new" && [ "$(cat "$1.new")" = "$2" ] && chmod 0444 "$1.new" && mv "$1.new" "$1"; } \
    2>/dev/null || fail "cannot write $(pwd)/$1"
  echo "made $(pwd)/$1"
}

# missing NAME: also a file without content.
missing() {
  [ -e "$1" ] || return 0
  content=$(cat "$1" 2>/dev/null) || fail "cannot read $(pwd)/$1"
  [ -z "$content" ]
}

# with_openssl ARGUMENTS: one line if it fails, whatever it prints.
with_openssl() {
  openssl "$@" 2>/dev/null || fail "openssl $1 failed"
}

# random FORMAT LENGTH: 32 bytes from openssl, as so many characters.
random() {
  text=$(with_openssl rand "-$1" 32)
  [ "${#text}" -eq "$2" ] || fail "openssl rand returned ${#text} characters instead of $2"
  echo "$text"
}

# database_url USER PASSWORD: TLS with a certificate verified against the authority below.
database_url() {
  echo "postgresql://$1:$2@postgres:5432/bursar?sslmode=verify-full&sslrootcert=/run/secrets/postgres_ca"
}

# password_in FILE USER: that of a URL of the user; nothing if there is none.
password_in() {
  if missing "$1"; then return 0; fi
  rest=${content#*://"$2":}
  [ "$rest" = "$content" ] || echo "${rest%%@*}"
}

# make_password NAME URL_FILE USER: makes a password. One that was lost while its URL was not is that of the URL: the database may have it.
make_password() {
  missing "$1" || return 0
  known=$(password_in "$2" "$3")
  case $known in
    *%*) fail "$(pwd)/$1 is missing or empty: write the password of $2 into it" ;;
    '') known=$(random hex 64) ;;
  esac
  put "$1" "$known"
}

# unusable FILE USER: missing, or without the password, as earlier versions left it when openssl failed.
unusable() {
  missing "$1" || [ "$content" != "${content#*://"$2":@}" ]
}

make_password postgres_password database_url_owner bursar
make_password redis_password redis_url default
for name in keystore_key transaction_tag_key mpc_party_1_key mpc_party_2_key mpc_party_3_key; do
  if missing "$name"; then
    key=$(random base64 44)
    put "$name" "$key"
  fi
done
! unusable redis_url default || put redis_url "redis://default:$(cat redis_password)@redis:6379"

# A database user for each process. The migration creates them from database_logins.
# users: made by npm run processes
users='api dispatcher signer submitter follower auditor sender operator party_1 party_2 party_3'
# end of users
logins=''
for name in $users; do
  user="bursar_${name}_login"
  if unusable "database_url_$name" "$user"; then
    password=$(random hex 64)
    put "database_url_$name" "$(database_url "$user" "$password")"
  fi
  password=$(password_in "database_url_$name" "$user")
  [ -n "$password" ] || fail "$(pwd)/database_url_$name has no password of the user $user: correct it, or remove it to have it made"
  logins="$logins,$(echo "$name" | tr _ -)=$password"
done
! unusable database_url_owner bursar || put database_url_owner "$(database_url bursar "$(cat postgres_password)")"
# Also after an upgrade that adds a user.
[ "$(cat database_logins 2>/dev/null)" = "${logins#,}" ] || put database_logins "${logins#,}"

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

# hex_of_end FILE: its last 32 bytes, which are the key in an encoding of X25519.
hex_of_end() {
  text=$(tail -c 32 "$1" | od -An -v -tx1 | tr -d ' \n')
  [ "${#text}" -eq 64 ] || fail 'openssl made no X25519 key'
  echo "$text"
}

# The age identity that opens the secrets of webhooks: an X25519 key.
if missing webhook_identity; then
  with_openssl genpkey -algorithm X25519 -outform DER -out "$work/webhook"
  with_openssl pkey -inform DER -in "$work/webhook" -pubout -outform DER -out "$work/webhook.pub"
  public=$(hex_of_end "$work/webhook.pub")
  private=$(hex_of_end "$work/webhook")
  recipient=$(bech32 age "$public")
  identity=$(bech32 age-secret-key- "$private" | tr a-z A-Z)
  put webhook_identity "# recipient: $recipient
$identity"
  echo "for webhooks, set WEBHOOK_RECIPIENT=$recipient in .env"
fi

# A private certificate authority signs the certificate of the host `postgres`; its key is deleted.
if missing postgres_key || missing postgres_certificate || missing postgres_ca; then
  with_openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 -subj '/CN=Bursar database CA' \
    -addext 'keyUsage=critical,keyCertSign' -keyout "$work/ca.key" -out "$work/ca.crt"
  with_openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj '/CN=postgres' \
    -keyout "$work/server.key" -out "$work/server.csr"
  printf 'subjectAltName=DNS:postgres\n' >"$work/extensions"
  with_openssl x509 -req -in "$work/server.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 3650 \
    -extfile "$work/extensions" -out "$work/server.crt"
  with_openssl verify -CAfile "$work/ca.crt" "$work/server.crt" >"$work/verified"
  for file in ca.crt server.crt server.key; do [ -s "$work/$file" ] || fail 'openssl made no certificate'; done
  # They belong together: if this ends in between, one is missing and the next run makes all again.
  rm -f postgres_ca postgres_certificate postgres_key
  put postgres_ca "$(cat "$work/ca.crt")"
  put postgres_certificate "$(cat "$work/server.crt")"
  put postgres_key "$(cat "$work/server.key")"
fi

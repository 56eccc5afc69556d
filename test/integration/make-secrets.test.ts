/** `scripts/make-secrets.sh` with an openssl that is missing, fails or writes too little, and after what earlier runs left. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const SCRIPT = fileURLToPath(new URL('../../scripts/make-secrets.sh', import.meta.url))
const OPENSSL = execFileSync('sh', ['-c', 'command -v openssl'], { encoding: 'utf8' }).trim()

function stage(t: Test) {
  const root = t.testdir({ bin: {}, without: {}, temporary: {} })
  const directory = `${root}/secrets`
  for (const tool of ['sh', 'mkdir', 'chmod', 'mktemp', 'rm', 'cat', 'mv']) {
    const path = execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim()
    writeFileSync(`${root}/without/${tool}`, `#!/bin/sh\nexec ${path} "$@"\n`, { mode: 0o755 })
  }
  const read = (name: string) => readFileSync(`${directory}/${name}`, 'utf8').trim()
  return {
    root,
    directory,
    read,
    passwordIn: (name: string) => new URL(read(name)).password,
    remove: (...names: readonly string[]) => {
      for (const name of names) rmSync(`${directory}/${name}`)
    },
    write(name: string, text: string) {
      rmSync(`${directory}/${name}`, { force: true })
      writeFileSync(`${directory}/${name}`, text)
    },
    run(openssl?: string | null) {
      const path = openssl === null ? `${root}/without` : `${root}/bin:${process.env.PATH}`
      if (typeof openssl === 'string') writeFileSync(`${root}/bin/openssl`, `#!/bin/sh\n${openssl}\n`)
      else rmSync(`${root}/bin/openssl`, { force: true })
      if (typeof openssl === 'string') chmodSync(`${root}/bin/openssl`, 0o755)
      const env = { ...process.env, PATH: path, OPENSSL, COUNTS: `${root}/counts`, TMPDIR: `${root}/temporary` }
      const { status, stdout, stderr } = spawnSync('/bin/sh', [SCRIPT, directory], { encoding: 'utf8', env })
      return { status, stderr, made: stdout.match(/^made .*$/gm)?.map((line) => line.replace(/.*\//, '')) ?? [] }
    },
  }
}

type Stage = ReturnType<typeof stage>

/** Exit code 1 with one line, nothing empty, and nothing that is left over. */
function refused(t: Test, { directory, root }: Stage, ran: ReturnType<Stage['run']>, line: RegExp, about: string) {
  t.equal(ran.status, 1, about)
  t.match(ran.stderr, line, about)
  t.equal(ran.stderr.trim().split('\n').length, 1, `${about}: one line`)
  const files = readdirSync(root).includes('secrets') ? readdirSync(directory) : []
  for (const file of files)
    t.not(readFileSync(`${directory}/${file}`, 'utf8').trim(), '', `${about}: ${file} has content`)
  t.strictSame(readdirSync(`${root}/temporary`), [], `${about}: nothing stays in the temporary directory`)
}

function agree(t: Test, { read, passwordIn, directory }: Stage) {
  t.equal(passwordIn('database_url_owner'), read('postgres_password'))
  t.equal(passwordIn('redis_url'), read('redis_password'))
  const logins = new Map(
    read('database_logins')
      .split(',')
      .map((login) => login.split('=') as [string, string]),
  )
  const urls = readdirSync(directory).filter((name) => /^database_url_(?!owner)/.test(name))
  t.equal(urls.length, logins.size)
  for (const name of urls) t.equal(passwordIn(name), logins.get(name.slice(13).replace('_', '-')), name)
  for (const password of logins.values()) t.match(password, /^[0-9a-f]{64}$/)
  for (const name of ['keystore_key', 'transaction_tag_key', 'mpc_party_1_key', 'mpc_party_2_key', 'mpc_party_3_key'])
    t.equal(Buffer.from(read(name), 'base64').length, 32, name)
  execFileSync(OPENSSL, ['verify', '-CAfile', `${directory}/postgres_ca`, `${directory}/postgres_certificate`])
  const publicKey = (args: readonly string[]) => execFileSync(OPENSSL, args, { encoding: 'utf8' })
  t.equal(
    publicKey(['x509', '-in', `${directory}/postgres_certificate`, '-noout', '-pubkey']),
    publicKey(['pkey', '-in', `${directory}/postgres_key`, '-pubout']),
    'the certificate is that of the key',
  )
}

t.test('without openssl, or with one that makes nothing or too little, the script ends with one line', async (t) => {
  const at = stage(t)
  refused(t, at, at.run(null), /openssl is not installed/, 'missing')
  refused(t, at, at.run('echo broken >&2; exit 1'), /openssl rand failed/, 'failing')
  refused(t, at, at.run('exit 0'), /returned 0 characters instead of 64/, 'silent')
  refused(t, at, at.run('"$OPENSSL" "$@" | head -c 20'), /returned 20 characters instead of 64/, 'short')
  const partly = '[ "$1" = genpkey ] && exit 0; exec "$OPENSSL" "$@"'
  refused(t, at, at.run(partly), /openssl pkey failed/, 'no key')
  refused(t, at, at.run('[ "$1" = x509 ] && exit 0; exec "$OPENSSL" "$@"'), /openssl verify failed/, 'no certificate')
  t.equal(at.run().status, 0)
  agree(t, at)
})

t.test('whichever call of openssl fails, the next run makes what is missing and keeps the rest', async (t) => {
  const counting = 'n=$(($(cat "$COUNTS") + 1)); echo "$n" >"$COUNTS"'
  const whole = stage(t)
  writeFileSync(`${whole.root}/counts`, '0')
  t.equal(whole.run(`${counting}; exec "$OPENSSL" "$@"`).status, 0)
  const calls = Number(readFileSync(`${whole.root}/counts`, 'utf8'))
  // The first password, key and URL, the last URL, and each call for the identity and the certificate.
  for (const failing of [1, 3, 8, ...[6, 5, 4, 3, 2, 1, 0].map((before) => calls - before)]) {
    rmSync(whole.directory, { recursive: true })
    writeFileSync(`${whole.root}/counts`, '0')
    const broken = whole.run(`${counting}; [ "$n" -ne ${failing} ] || exit 1; exec "$OPENSSL" "$@"`)
    refused(t, whole, broken, /openssl \w+ failed/, `call ${failing}`)
    const before = new Map(broken.made.map((name) => [name, whole.read(name)]))
    t.equal(whole.run().status, 0)
    // The logins grow with the URLs.
    for (const [name, text] of before) if (name !== 'database_logins') t.equal(whole.read(name), text, name)
    agree(t, whole)
  }
})

t.test('what earlier versions left without a password is made, and what was lost comes from its URL', async (t) => {
  const at = stage(t)
  t.equal(at.run().status, 0)
  const [ofRedis, ofPostgres] = [at.read('redis_password'), at.read('postgres_password')]
  const ca = at.read('postgres_ca')

  at.remove('redis_password', 'postgres_password')
  t.strictSame(at.run().made, ['postgres_password', 'redis_password'])
  t.strictSame([at.read('redis_password'), at.read('postgres_password')], [ofRedis, ofPostgres])

  const unwritten = ['redis_password', 'postgres_password', 'keystore_key', 'postgres_key']
  for (const name of unwritten) at.write(name, name === 'keystore_key' ? '\n' : '')
  for (const name of ['database_url_owner', 'database_url_api', 'redis_url'])
    at.write(name, at.read(name).replace(/[0-9a-f]{64}@/, '@'))
  at.write('database_logins', at.read('database_logins').replace(/api=\w+/, 'api='))
  t.equal(at.run().status, 0)
  agree(t, at)
  t.not(at.read('redis_password'), ofRedis)
  t.not(at.read('postgres_ca'), ca)
  t.strictSame(at.run(), { status: 0, stderr: '', made: [] })
})

t.test('a URL of another form is kept, unless its password is needed', async (t) => {
  const at = stage(t)
  t.equal(at.run().status, 0)
  const other = {
    redis_url: 'rediss://redis.example:6380',
    database_url_owner: 'postgresql://bursar:p%40ss@db.example/bursar',
  }
  for (const [name, url] of Object.entries(other)) at.write(name, `${url}\n`)
  t.strictSame(at.run(), { status: 0, stderr: '', made: [] })
  at.remove('postgres_password')
  refused(t, at, at.run(), /postgres_password is missing or empty: write the password of database_url_owner/, 'encoded')
  at.write('postgres_password', 'p@ss\n')
  at.write('database_url_signer', 'postgresql://someone:else@db.example/bursar\n')
  refused(t, at, at.run(), /database_url_signer has no password of the user bursar_signer_login/, 'another user')
  at.remove('database_url_signer')
  t.strictSame(at.run().made, ['database_url_signer', 'database_logins'])
})

t.test('a file that cannot be written ends the script with one line', async (t) => {
  const at = stage(t)
  mkdirSync(`${at.directory}/keystore_key.new`, { recursive: true })
  const { status, stderr, made } = at.run()
  t.equal(status, 1)
  t.match(stderr, /^make-secrets\.sh: cannot write \S+\/keystore_key\n$/)
  t.strictSame(made, ['postgres_password', 'redis_password'])
  rmSync(`${at.directory}/keystore_key.new`, { recursive: true })
  t.equal(at.run().status, 0)
  agree(t, at)
})

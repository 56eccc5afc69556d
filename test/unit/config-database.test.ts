/** The settings of the database: the users of processes, and the protection of a party's connection. */
import t from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import type { Environ } from '../../src/config.ts'
import { PRODUCTION, problemsOf } from '../support/config.ts'
import { matchExactly } from '../support/match-exactly.ts'

const PARTY = { MPC_PARTY: '1', MPC_PARTY_ADDRESSES: '1=a:1,2=b:1,3=c:1' }

t.test('a party reads the log over verified TLS, loopback or a socket, or does not start', async (t) => {
  const problems = (url: string, more: Environ = {}) => problemsOf({ ...PARTY, DATABASE_URL: url, ...more })
  const mustVerify =
    /^DATABASE_URL must have sslmode=verify-full for an mpc party, unless its host is loopback or a Unix socket/
  for (const url of [
    'postgres://p:w@db/bursar',
    'postgres://p:w@10.0.0.7/bursar',
    'postgres://p:w@db/bursar?ssl=true',
    'postgres://p:w@db/bursar?sslmode=no-verify',
    'postgres://p:w@db/bursar?sslmode=require&uselibpqcompat=true',
    'postgres://p:w@db/bursar?sslmode=verify-full&sslmode=disable',
    'postgres://p:w@localhost/bursar?host=db',
    'postgres://p:w@127.0.0.1.evil.example/bursar',
  ])
    matchExactly(t, problems(url), [mustVerify], url)
  matchExactly(t, problems('postgres://p:w@10.0.0.7/bursar?sslmode=verify-full'), [
    /^DATABASE_URL must contain the host name of the server certificate/,
  ])
  matchExactly(t, problems('postgres://p:w@db/bursar?sslmode=verify-full&sslrootcert=/none'), [
    /^DATABASE_URL must be a URL whose/,
  ])
  for (const url of [
    'postgres://p:w@db.example/bursar?sslmode=verify-full',
    'postgres://p:w@localhost:5432/bursar',
    'postgres://p:w@127.0.0.1/bursar',
    'postgres://p:w@[::1]/bursar',
    'postgres://p:w@/bursar?host=/var/run/postgresql',
  ]) {
    t.strictSame(problems(url), [], url)
    t.equal(loadConfig({ ...PARTY, DATABASE_URL: url }).database.tlsVerified, true)
  }
  const open = { DATABASE_URL: 'postgres://p:w@db/bursar', DATABASE_TLS: 'off' }
  t.strictSame(problemsOf({ ...PARTY, ...open }), [], 'DATABASE_TLS=off allows a connection without TLS')
  t.equal(loadConfig({ ...PARTY, ...open }).database.tlsVerified, false, 'the configuration has tlsVerified false')
  t.strictSame(problemsOf(PRODUCTION), [], 'a process other than a party needs no verified TLS')
})

t.test('a party always needs a database role, other processes where the settings say so', async (t) => {
  const required = (env: Environ) => loadConfig(env).database.rolesRequired
  t.equal(required(PRODUCTION), false)
  t.equal(required({ ...PRODUCTION, DATABASE_ROLES: 'required' }), true)
  t.equal(required({ ...PARTY, DATABASE_URL: 'postgres://p:w@localhost/bursar', DATABASE_ROLES: 'warn' }), true)
})

t.test('users to make are named with their passwords, once each', async (t) => {
  const logins = (text: string) => problemsOf({ ...PRODUCTION, DATABASE_LOGINS: text })
  const password = 'x'.repeat(16)
  t.strictSame(loadConfig({ ...PRODUCTION, DATABASE_LOGINS: `api=${password}, party-3=${password}` }).database.logins, [
    { name: 'api', password },
    { name: 'party-3', password },
  ])
  matchExactly(t, logins(`root=${password}`), [
    /^DATABASE_LOGINS must be a comma-separated list of name=password, .+ \(hidden\)$/,
  ])
  matchExactly(t, logins('api=short'), [/^DATABASE_LOGINS must be a comma-separated list .+ \(hidden\)$/])
  matchExactly(t, logins(`api=${password},api=${password}`), [
    'DATABASE_LOGINS must name each user once, but api is named twice',
  ])
})

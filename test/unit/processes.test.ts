/** The table of processes: names, database users, and what follows from both. */
import t from 'tap'
import { loginNameOf, loginOf } from '../../src/compose/database-roles/logins.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { PROCESS_LIST, processNamed } from '../../src/core/processes.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('a process is found by its name, a numbered one with its number alone', (t) => {
  t.equal(processNamed('chain-follower')?.kind, 'chain-follower')
  t.equal(processNamed('mpc-party-12')?.kind, 'mpc-party')
  for (const name of ['mpc-party', 'mpc-party-unset', 'signer-2', 'follower', 'command', ''])
    t.equal(processNamed(name), undefined, `${name} is no process`)
  t.end()
})

t.test('each process has a database user of its own, with its role', (t) => {
  const names = PROCESS_LIST.flatMap(({ kind, numbered }) => (numbered ? [`${kind}-1`, `${kind}-2`] : [kind]))
  const logins = names.map((name) => loginOf({ name: loginNameOf(name), password: 'secret' }))
  t.equal(new Set(logins.map(({ user }) => user)).size, names.length)
  for (const [at, { roles }] of logins.entries())
    matchExactly(t, roles, [processNamed(names[at] ?? '')?.databaseRole], `the role of ${names[at]}`)
  t.throws(() => loginNameOf('janitor'), /no process/)
  t.end()
})

t.test('users and roles keep the names that databases have', (t) => {
  const userOf = (name: string) => loginOf({ name: loginNameOf(name), password: 'secret' })
  matchExactly(t, userOf('chain-follower'), { user: 'bursar_follower_login', roles: ['follower'], process: undefined })
  matchExactly(t, userOf('webhook-sender'), { user: 'bursar_sender_login', roles: ['sender'], process: undefined })
  matchExactly(t, userOf('mpc-party-2'), { user: 'bursar_party_2_login', roles: ['party'], process: 'mpc-party-2' })
  t.strictSame(DATABASE_ROLES, [
    'api',
    'dispatcher',
    'signer',
    'submitter',
    'follower',
    'auditor',
    'sender',
    'party',
    'operator',
  ])
  t.end()
})

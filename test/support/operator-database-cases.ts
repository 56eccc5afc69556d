/** For each kind of finding about the database and the auditor: facts that cause it, its subject, problem and advice. */
import { judgeBadEvents } from '../../src/audit/for-operators.ts'
import { Conflict } from '../../src/core/errors.ts'
import type { Finding } from '../../src/operator/finding.ts'
import { DATABASE, SERVICE, service, stuck } from './operator-facts.ts'

type Case = readonly [() => Finding[], string, RegExp, RegExp]

const refused = (code: string) => () =>
  stuck({ database: { ...DATABASE, refusal: new Conflict(code, 'It does not fit.') } })

const auditor = (problem: string) => () =>
  service({ processes: SERVICE.processes.map((one) => (one.process === 'auditor' ? { ...one, problem } : one)) })

const BAD_EVENT = { position: '9', streamId: 'wallet-wal_1', streamVersion: 4, problem: 'does not match' }

export const DATABASE_CASES: Readonly<
  Record<'database_unfit' | 'database_not_durable' | 'audit_stopped' | 'bad_event', readonly Case[]>
> = {
  database_unfit: [
    [refused('log_ids_behind'), 'database', /It does not fit.*end within a minute/, /"npm run migrate"/],
    [refused('schema_too_old'), 'database', /refuse to start/, /"npm run migrate"/],
    [refused('schema_too_new'), 'database', /refuse to start/, /newer version.*How to go back/],
  ],
  database_not_durable: [
    [
      () =>
        stuck({
          database: { ...DATABASE, weak: [{ setting: 'fsync', value: 'off', fix: 'ALTER SYSTEM SET fsync = on;' }] },
        }),
      'database',
      /fsync is off: a crash/,
      /ALTER SYSTEM SET fsync = on;/,
    ],
  ],
  bad_event: [
    [
      () => stuck({ told: [{ place: 120, judge: () => judgeBadEvents({ count: 1, first: BAD_EVENT }) }] }),
      'event evt_wallet-wal_1.4',
      /position 9.*Only its stream is held/,
      /audit verify.*audit set-aside evt_wallet-wal_1\.4/,
    ],
  ],
  audit_stopped: [
    [auditor('The log has 3 events, but 5 were signed.'), 'auditor auditor:7', /5 were signed/, /audit verify/],
  ],
}

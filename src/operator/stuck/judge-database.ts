/** A database that no process may use, or that can lose what was answered. Pure. */
import { type DatabaseFacts, weaknessOf } from '../../event-log/database-facts.ts'
import { type Finding, step } from '../finding.ts'

export function judgeDatabase(facts: DatabaseFacts): Finding[] {
  return [...judgeRefusal(facts), ...judgeDurability(facts)]
}

function judgeRefusal({ refusal }: DatabaseFacts): Finding[] {
  if (refusal === null) return []
  const next =
    refusal.code === 'schema_too_new'
      ? [
          step('Start the processes of the newer version.', 'docker compose up --detach'),
          step('Or go back: docs/deployment.md, "How to go back".'),
        ]
      : [step('Stop all processes, then run this as the owner of the tables, and start them again.', 'npm run migrate')]
  return [
    {
      kind: 'database_unfit',
      subject: 'database',
      problem: `${refusal.message} Processes refuse to start, and those that run end within a minute.`,
      forMs: null,
      next,
    },
  ]
}

function judgeDurability(facts: DatabaseFacts): Finding[] {
  const weakness = weaknessOf(facts)
  if (weakness === null) return []
  return [
    {
      kind: 'database_not_durable',
      subject: 'database',
      problem: `${facts.weak.map(({ setting, value }) => `${setting} is ${value}`).join(', ')}: a crash of the database or its machine can lose or damage what was answered. Appends wait for the disk whatever synchronous_commit is.`,
      forMs: null,
      next: facts.weak.map(({ setting, fix }) =>
        step(
          `Set ${setting}, as an administrator of the server, and remove it from its command line if it is there.`,
          fix,
        ),
      ),
    },
  ]
}

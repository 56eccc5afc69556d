/** Events of transactions as they were written once, read as they are read today. */
import { readFileSync } from 'node:fs'
import { upcast } from '../../src/event-log/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/events.ts'

/** @param version the newest unless an older one is asked for */
export function golden<E extends TransactionEvent>(
  type: E['type'],
  version: number = transactionAggregate.schemas[type].version,
): E {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v${version}.json`, import.meta.url), 'utf8'))
  return upcast<E>(transactionAggregate.schemas, type, file.schema_version, file.data)
}

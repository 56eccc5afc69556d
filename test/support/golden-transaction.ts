/** Recorded events of transactions, read with the current code. */
import '../../src/declarations.ts'
import { readFileSync } from 'node:fs'
import { upcast } from '../../src/event-log/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'

/** @param version default is the newest */
export function golden<E extends TransactionEvent>(
  type: E['type'],
  version: number = transactionAggregate.schemas[type].version,
): E {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v${version}.json`, import.meta.url), 'utf8'))
  return upcast<E>(transactionAggregate.schemas, type, file.schema_version, file.data)
}

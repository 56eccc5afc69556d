/**
 * Writes a golden file for each public event type, and for each publisher that repeats it, that has none, and the examples of the API reference: the second half of
 * `npm run golden-log`. Existing golden files never change: an event that was published once has the same bytes permanently.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { eventExamples, goldenBytes, goldenEvents, publicEvents } from '../../support/public-log.ts'

const events = await publicEvents()
for (const [name, event] of goldenEvents(events)) {
  const file = new URL(`${name}.json`, import.meta.url)
  if (event !== undefined && !existsSync(file)) writeFileSync(file, goldenBytes(event))
}
const examples = new URL('../../../src/compose/event-examples.json', import.meta.url)
writeFileSync(examples, `${JSON.stringify(eventExamples(events), null, 2)}\n`)

/**
 * Writes a golden file for each public event type that has none: the second half of `npm run golden-log`. Existing
 * files never change: an event that was published once has the same bytes permanently.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { goldenBytes, publicEvents } from '../../support/public-log.ts'

for (const event of await publicEvents()) {
  const file = new URL(`${event.type}.json`, import.meta.url)
  if (!existsSync(file)) writeFileSync(file, goldenBytes(event))
}

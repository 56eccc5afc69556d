/** Event data as the log stores it, for tests that read it themselves. */
import { canonicalData } from '../../src/core/canonical-json.ts'
import type { Recorded } from '../../src/core/recorded.ts'

export function stored<Value>(value: Value): Recorded<Value> {
  return JSON.parse(canonicalData(value))
}

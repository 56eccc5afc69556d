/** What counts as evidence that the database went back to an earlier state, and that it is recorded once. */
import t from 'tap'
import { type DatabaseCommand, databaseDecider } from '../../src/restores/decider.ts'
import type { DatabaseEvent } from '../../src/restores/events.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-24T12:00:00.000Z'
const FIRST = { systemIdentifier: '7711763239231766499', timeline: 1 }
const MISSING = { size: 1042, root: 'ab'.repeat(32) }

/** The events after each observation in turn. */
function observed(...seen: readonly Partial<DatabaseCommand>[]): readonly DatabaseEvent[] {
  const { decide, evolve, initialState } = databaseDecider
  let state = initialState
  return seen.flatMap((each) => {
    const events = decide(
      { type: 'Observe', identity: FIRST, missing: null, identifiedBefore: true, now: NOW, ...each },
      state,
    )
    state = events.reduce(evolve, state)
    return events
  })
}

function stateAfter(...seen: readonly Partial<DatabaseCommand>[]) {
  const { evolve, initialState } = databaseDecider
  return observed(...seen).reduce(evolve, initialState)
}

const identified = { type: 'DatabaseIdentified', data: { ...FIRST, identifiedAt: NOW } }
const detected = (data: object) => ({ type: 'RestoreDetected', data: { untagged: false, checkpoint: null, ...data } })

t.test('the first observation identifies the database, and another start of the same one records nothing', (t) => {
  t.strictSame(observed({}, {}, {}), [identified])
  t.match(stateAfter({}, {}), { restores: 0, untagged: false })
  t.end()
})

t.test('another system identifier or timeline is evidence, once, and also when it changes back', (t) => {
  const other = { ...FIRST, systemIdentifier: '1' }
  const promoted = { ...FIRST, timeline: 2 }
  matchExactly(t, observed({}, { identity: other }, { identity: other }), [
    identified,
    detected({ ...other, evidence: ['system_identifier'] }),
  ])
  matchExactly(t, observed({}, { identity: promoted }, { identity: promoted }, {}), [
    identified,
    detected({ ...promoted, evidence: ['timeline'] }),
    detected({ ...FIRST, evidence: ['timeline'] }),
  ])
  t.match(stateAfter({}, { identity: promoted }, {}), { restores: 2, untagged: false })
  t.end()
})

t.test('a signed state that the log lacks is evidence, once for each state', (t) => {
  const later = { size: 2000, root: 'cd'.repeat(32) }
  const all = [{}, { missing: MISSING }, { missing: MISSING }, {}, { missing: later }, { missing: MISSING }]
  matchExactly(t, observed(...all), [
    identified,
    detected({ evidence: ['checkpoint'], checkpoint: MISSING }),
    detected({ evidence: ['checkpoint'], checkpoint: later }),
  ])
  t.match(stateAfter(...all), { restores: 2, untagged: false })
  const both = { missing: MISSING, identity: { ...FIRST, timeline: 3 } }
  matchExactly(t, observed({}, both), [
    identified,
    detected({ evidence: ['timeline', 'checkpoint'], checkpoint: MISSING }),
  ])
  t.end()
})

t.test(
  'a log that went back to before its first identity is untagged, also if a signer without the file came first',
  (t) => {
    matchExactly(t, observed({ missing: MISSING }), [identified, detected({ untagged: true, checkpoint: MISSING })])
    matchExactly(t, observed({}, { missing: MISSING, identifiedBefore: false }), [
      identified,
      detected({ untagged: true, checkpoint: MISSING }),
    ])
    t.match(stateAfter({ missing: MISSING }, {}, { identity: { ...FIRST, timeline: 2 } }), {
      restores: 2,
      untagged: true,
    })
    t.end()
  },
)

/** The number of parties and signers of a wallet's key. */
import t from 'tap'
import type { BursarError } from '../../src/core/errors.ts'
import type { KeyedType, MpcTerms } from '../../src/wallets/events.ts'
import { termsOf } from '../../src/wallets/mpc-terms.ts'
import { matchExactly } from '../support/match-exactly.ts'

const INSTALLED = { threshold: 2, parties: 3 }

function refusalOf(type: KeyedType, requested: MpcTerms | null, installed: MpcTerms | null = INSTALLED) {
  try {
    return termsOf(type, requested, installed)
  } catch (error) {
    return (error as BursarError).items
  }
}

t.test('a request takes the terms of the installation, or its own within them', async (t) => {
  const installed = { ...INSTALLED, poolSize: 4 }
  t.strictSame(termsOf('mpc', null, installed), INSTALLED, 'the terms contain no other settings')
  for (const terms of [INSTALLED, { threshold: 2, parties: 2 }, { threshold: 3, parties: 3 }])
    t.strictSame(termsOf('mpc', terms, INSTALLED), terms)
  t.equal(termsOf('hd', null, INSTALLED), null)
  t.equal(termsOf('hd', null, null), null)
})

t.test('more than half of the parties must sign, so that two sets of signers always share one', async (t) => {
  const many = { threshold: 11, parties: 20 }
  for (const terms of [
    { threshold: 2, parties: 2 },
    { threshold: 2, parties: 3 },
    { threshold: 3, parties: 4 },
    { threshold: 3, parties: 5 },
  ])
    t.strictSame(termsOf('mpc', terms, many), terms)
  for (const terms of [
    { threshold: 2, parties: 4 },
    { threshold: 2, parties: 5 },
    { threshold: 3, parties: 6 },
    { threshold: 10, parties: 20 },
  ])
    matchExactly(t, refusalOf('mpc', terms, many), [
      { field: 'mpc.threshold', code: 'threshold_too_low', message: /more than half of mpc.parties/ },
    ])
})

t.test('impossible terms are refused with their field and its rule', async (t) => {
  matchExactly(t, refusalOf('mpc', { threshold: 2, parties: 4 }), [
    { field: 'mpc.parties', code: 'too_many_parties', message: /a whole number from 2 to 3/ },
  ])
  matchExactly(t, refusalOf('mpc', { threshold: 1, parties: 1 }), [{ field: 'mpc.parties' }])
  matchExactly(t, refusalOf('mpc', { threshold: 3, parties: 2 }), [
    { field: 'mpc.threshold', code: 'threshold_too_high', message: /from 2 to mpc.parties \(2\)/ },
  ])
  matchExactly(t, refusalOf('mpc', { threshold: 1, parties: 3 }), [{ field: 'mpc.threshold' }])
  matchExactly(t, refusalOf('mpc', { threshold: 2.5, parties: 3 }), [{ field: 'mpc.threshold' }])
  matchExactly(t, refusalOf('hd', INSTALLED), [{ field: 'mpc', code: 'mpc_only' }])
  matchExactly(t, refusalOf('mpc', null, null), [{ type: 'unavailable', code: 'signer_unavailable' }])
})

/**
 * Lane, submitter and follower over random histories of a wallet that spends everything it has, while gas and fees change:
 * after every event the holds fit into the balance, no node misses funds, and everything that was accepted is paid.
 */
import t from 'tap'
import { type FundsOutcome, simulateFunds } from '../simulation/funds.ts'
import { HONEST } from '../simulation/mutants.ts'
import { LawBroken } from '../simulation/world.ts'

const SEED = Number(process.env.SIMULATION_SEED ?? Date.now() % 2 ** 31)
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 150)
const SEARCHED = 100

t.test(`what is held fits into the balance, always (SIMULATION_SEED=${SEED})`, async (t) => {
  const outcomes: FundsOutcome[] = []
  for (let run = 0; run < HISTORIES; run += 1) outcomes.push(await simulateFunds(SEED + run))
  const sum = (of: (outcome: FundsOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
  const states = ['confirmed', 'cancelled', 'failed'].map(
    (state) => `${sum(({ settled }) => settled[state] ?? 0)} ${state}`,
  )
  t.comment(`${HISTORIES} histories, ${sum(({ accepted }) => accepted)} requests: ${states.join(', ')}`)
  t.comment(`${sum(({ refused }) => refused)} signatures were refused, because a request had taken their funds`)
  if (HISTORIES >= 100)
    t.ok(
      sum(({ refused }) => refused),
      'requests take funds while the lane signs',
    )
})

t.test('histories in which a signature need not fit break the law', async (t) => {
  const mutant = { ...HONEST, name: 'what is signed need not fit', laws: { ...HONEST.laws, signaturesFit: false } }
  for (let seed = 1; seed <= SEARCHED; seed += 1) {
    const broken = await simulateFunds(seed, mutant).catch((error: unknown) => error)
    if (!(broken instanceof Error)) continue
    if (!(broken instanceof LawBroken)) throw broken
    t.comment(broken.message.split('\n')[0] ?? '')
    return void (await t.resolves(simulateFunds(seed), 'the same history breaks nothing without the mutant'))
  }
  t.fail(`${SEARCHED} histories did not detect the mutant`)
})

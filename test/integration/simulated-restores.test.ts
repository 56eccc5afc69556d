/**
 * Lane, submitter, follower, clients and an operator over random histories in which the database goes back, blocks leave
 * the chain, clocks step and another program sends equal payments with the same key: each request that is reported
 * `confirmed` has its own transaction on chain, and none has two. test/long runs 10,000 of them.
 */
import t from 'tap'
import { runHistories } from '../support/restore-histories.ts'

const SEED = Number(process.env.SIMULATION_SEED ?? Date.now() % 2 ** 31)
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 300)

t.test(`no restore makes a payment twice, or tells of one that was not made (SIMULATION_SEED=${SEED})`, async (t) => {
  await t.resolves(runHistories(t, SEED, HISTORIES))
})

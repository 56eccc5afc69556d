/** The gas of chains under the rules of Osaka, as anvil runs them. */
import { rulesOf } from '../../src/chain/forks.ts'
import type { PlainGasOf } from '../../src/transactions/plain-gas.ts'

export const OSAKA = rulesOf('osaka')
export const osakaRules = async () => OSAKA
export const osakaPlainGas: PlainGasOf = async (transfers) =>
  transfers.map(() => ({ gasLimit: OSAKA.transfer, newAccount: 0n }))

/** The deterministic deployment proxy (https://github.com/Arachnid/deterministic-deployment-proxy): salt, then code. */
import type { GasRules } from './forks.ts'

/** A call to a contract. */
export type ContractRequest = { readonly to: string; readonly data: string }

/** Its address on every chain that has it. */
export const DEPLOYMENT_PROXY = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

/**
 * The upper bound of the gas of a contract that call data creates, through the proxy or a factory that is called with its code.
 * test/integration/nft-contracts-gas.test.ts compares it with real costs.
 */
export function contractGas({ contract, dataByte }: GasRules, data: string): bigint {
  return contract.base + (contract.perByte + dataByte) * BigInt(data.length / 2 - 1)
}

/**
 * The deployment of a factory by whoever needs it, any number of times: it succeeds where the factory stands. The
 * deployment proxy reverts for a contract that exists, so it creates, at an address of its own for each salt, a contract
 * whose constructor has the proxy create the factory if there is none, and then destroys itself. Nothing stays there, so the
 * same bytes succeed again: whoever copies a pending deployment takes nothing from its sender.
 */
import { concat, toBeHex } from 'ethers/utils'
import { type ContractRequest, DEPLOYMENT_PROXY } from '../../chain/deployment-proxy.ts'
import { deployFactory, type FactoryKind, factoryAddress } from './collection.ts'

const SALT_BYTES = 32
const KINDS = ['WHOLE', 'STEPS'] as const

/** @param salt 32 bytes: deployments of the same salt do not fail either, but differ for each request */
export function ensureFactory(kind: FactoryKind, salt: string): ContractRequest {
  return { to: DEPLOYMENT_PROXY, data: concat([salt, CONSTRUCTORS[kind]]) }
}

/** Whether call data for the deployment proxy deploys a factory, in this form or the plain one, and nothing else. */
export function deploysFactory(data: string): boolean {
  const lower = data.toLowerCase()
  const code = lower.slice(2 + 2 * SALT_BYTES)
  return KINDS.some((kind) => lower === deployFactory(kind).data || code === CONSTRUCTORS[kind].slice(2))
}

const CONSTRUCTORS: Readonly<Record<FactoryKind, string>> = {
  WHOLE: constructorOf('WHOLE'),
  STEPS: constructorOf('STEPS'),
}

function constructorOf(kind: FactoryKind): string {
  const { to, data } = deployFactory(kind)
  const size = toBeHex(data.length / 2 - 1, 3)
  const start = [
    // If the factory has code, jump to the end.
    ['0x73', factoryAddress(kind), '0x3b', '0x60', '0x46', '0x57'],
    // Copy the call data, which follows this code, to memory.
    ['0x62', size, '0x60', '0x49', '0x5f', '0x39'],
    // Call the proxy with all gas, no value, and no place for its answer.
    ['0x5f', '0x5f', '0x62', size, '0x5f', '0x5f', '0x73', to, '0x5a', '0xf1'],
    // Jump to the end if it succeeded, else revert.
    ['0x60', '0x46', '0x57', '0x5f', '0x5f', '0xfd'],
    // The end: JUMPDEST, SELFDESTRUCT to the proxy, which removes a contract in the transaction that creates it (EIP-6780).
    ['0x5b', '0x33', '0xff'],
  ]
  return concat([...start.flat(), data])
}

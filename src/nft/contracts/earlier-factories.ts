/**
 * The factories of earlier versions of the contracts, and their implementations. Their collections stay on chain and work
 * as they are; nothing new is deployed with them, except what was accepted before an upgrade.
 */
import { keccak256 } from 'ethers/crypto'
import { DEPLOYMENT_PROXY } from '../../chain/deployment-proxy.ts'

/** A mint of a SERIES may skip any number of ids. */
const UNBOUNDED = {
  factories: ['0x991a9846284AF50c8dEf4902FB05215C9936DD76', '0x233a2c7d994600851bbE983CE9B9c845A249eC8C'],
  implementations: [
    '0xF219F7Df9c34b0636c7caE5F49b3890c9e0A7Ddf',
    '0xa7e82ab456F2ffAb2B5dB1FDbC39aD8f94ca092F',
    '0x6e00ff63c4f9db214B000571C940F4ddD213B196',
    '0x60e6350109739DB47B5e66BDD6f99e4F77EbA9e0',
  ],
  /** Hashes of the call data for the deployment proxy. */
  deployments: [
    '0xdd538d17cb24ad63d447ae17478fec955e9ce72b0cd553775e739150ec33465f',
    '0x07e261c2cd75d7f69db19317ebcf714d167492657c962ecf498c4a42476303f6',
  ],
  /** Hashes of the call data for its factory in steps. */
  creations: [
    '0x7250144afd95356930536efe535f73dba00daf790533211f389483ab23aed64f',
    '0x7e55b6ea2fdd19fa47271e51aeacb8c9ea9de2ccdca5aedea133d0de8bde5e81',
  ],
} as const

export const EARLIER_FACTORIES: readonly string[] = UNBOUNDED.factories
export const EARLIER_IMPLEMENTATIONS: readonly string[] = UNBOUNDED.implementations

const HEX = /^0x(?:[0-9a-f]{2})*$/i

/** Whether a call deploys an earlier factory with the deployment proxy, or creates an implementation of the one in steps. */
export function isEarlierCreation(to: string, data: string): boolean {
  if (!HEX.test(data)) return false
  const { deployments, creations, factories } = UNBOUNDED
  const hash = keccak256(data)
  if (to.toLowerCase() === DEPLOYMENT_PROXY.toLowerCase()) return deployments.some((known) => known === hash)
  return factories.some((one) => one.toLowerCase() === to.toLowerCase()) && creations.some((known) => known === hash)
}

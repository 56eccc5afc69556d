/** Both builds of libsecp256k1 give the same signatures, signers and refusals, so that it does not matter which one is there. */
import { randomBytes } from 'node:crypto'
import { SigningKey } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import {
  asMachineCode,
  asWebAssembly,
  type Libsecp256k1,
  recover,
  signRecoverable,
} from '../../src/keys/libsecp256k1.ts'

/** Platforms for which the package has a build. */
const BUILT = ['linux-x64', 'win32-x64', 'darwin-arm64']
const ORDER = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex')
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const builds: readonly Libsecp256k1[] = asMachineCode === null ? [asWebAssembly] : [asWebAssembly, asMachineCode]

t.test('machine code signs where the package has it', (t) => {
  t.equal(asMachineCode !== null, BUILT.includes(`${process.platform}-${process.arch}`))
  t.strictSame({ signRecoverable, recover }, asMachineCode ?? asWebAssembly)
  t.end()
})

t.test('each build makes the bytes that ethers makes, and recovers the key', (t) => {
  fc.assert(
    fc.property(bytes(32), bytes(32), (digest, secret) => {
      fc.pre(secret.some((byte) => byte !== 0) && Buffer.compare(secret, ORDER) < 0)
      const key = new SigningKey(secret)
      const { r, s, yParity } = key.sign(digest)
      for (const build of builds) {
        const { signature, recoveryId } = build.signRecoverable(digest, Uint8Array.from(secret))
        if (`0x${Buffer.from(signature).toString('hex')}` !== r + s.slice(2) || recoveryId !== yParity) return false
        const recovered = build.recover(digest, signature, recoveryId)
        if (`0x${Buffer.from(recovered).toString('hex')}` !== key.publicKey) return false
      }
      return true
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('each build refuses keys and signatures that are none', (t) => {
  const digest = randomBytes(32)
  for (const build of builds) {
    for (const secret of [Buffer.alloc(32), ORDER, randomBytes(31)])
      t.throws(() => build.signRecoverable(digest, secret))
    const { signature } = build.signRecoverable(digest, Buffer.alloc(32, 7))
    for (const bad of [Buffer.alloc(64), Buffer.concat([ORDER, ORDER]), signature.subarray(1)])
      t.throws(() => build.recover(digest, bad, 0))
    t.throws(() => build.recover(digest, signature, 4))
  }
  t.end()
})

t.test('any bytes recover to the same key in each build, or to none in each', (t) => {
  const outcome = (build: Libsecp256k1, ...of: Parameters<Libsecp256k1['recover']>) => {
    try {
      return Buffer.from(build.recover(...of)).toString('hex')
    } catch {
      return null
    }
  }
  fc.assert(
    fc.property(bytes(32), bytes(64), fc.integer({ min: 0, max: 3 }), (digest, signature, recoveryId) => {
      const outcomes = new Set(builds.map((build) => outcome(build, digest, signature, recoveryId)))
      return outcomes.size === 1
    }),
    { numRuns: 500 },
  )
  t.end()
})

t.end()

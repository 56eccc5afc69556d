// Compiles src/keys/mpc/engine/ (Rust) to the WebAssembly module beside it, and records its sources. With --check it
// verifies that the module is the recorded one and that the sources have not changed; if the toolchain is installed, it
// also compiles them and compares every byte. Users do not need this: the module is committed.
//
// The toolchain, on Debian: rustc-web, cargo-web, rust-web-src and lld-19 (Rust 1.96).

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../src/keys/mpc/engine', import.meta.url))
const MODULE = join(FOLDER, 'engine.wasm')
const RECORD = join(FOLDER, 'engine.json')
const TARGET = 'wasm32-unknown-unknown'
const RUSTC = process.env.RUSTC ?? '/usr/bin/rustc'
const CARGO = process.env.CARGO ?? '/usr/bin/cargo'
const LINKER = 'wasm-ld-19'
/**
 * WebAssembly multiplies 64 by 64 bits into 64: field elements with 26-bit limbs are three times as fast as with 52-bit
 * limbs.
 */
const FLAGS = [
  '-C',
  `linker=${LINKER}`,
  '-C',
  'target-feature=+simd128,+bulk-memory',
  '--cfg',
  'cpubits="32"',
  '-Z',
  'location-detail=none',
]

/** @param {string | Buffer} bytes */
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

/** One digest of everything the module is compiled from. */
function sourcesDigest() {
  const sources = [
    'Cargo.toml',
    'Cargo.lock',
    ...readdirSync(join(FOLDER, 'src'))
      .sort()
      .map((name) => `src/${name}`),
  ]
  const texts = sources.map((name) => `${name}\n${readFileSync(join(FOLDER, name), 'utf8')}`)
  return sha256([...FLAGS, ...texts].join('\0'))
}

/** The version of the compiler, or null when the toolchain is incomplete. */
function toolchain() {
  const version = spawnSync(RUSTC, ['--version'], { encoding: 'utf8' })
  if (version.status !== 0 || spawnSync(LINKER, ['--version']).status !== 0) return null
  const sysroot = spawnSync(RUSTC, ['--print', 'sysroot'], { encoding: 'utf8' }).stdout.trim()
  if (!existsSync(join(sysroot, 'lib/rustlib/src/rust/library/std'))) return null
  return version.stdout.trim()
}

/**
 * @param {string} targetDir
 * @returns {Buffer}
 */
function compile(targetDir) {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), '.cargo')
  // Local paths must not be in the module, so that the result is the same on every machine.
  const remapped = [
    [targetDir, '/target'],
    [cargoHome, '/cargo'],
    [FOLDER, '/engine'],
  ].map(([from, to]) => `--remap-path-prefix=${from}=${to}`)
  const run = spawnSync(CARGO, ['build', '--release', '--locked', '-Zbuild-std=std,panic_abort', '--target', TARGET], {
    cwd: FOLDER,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      RUSTC,
      // Building the standard library for this target is a feature of nightly compilers.
      RUSTC_BOOTSTRAP: '1',
      CARGO_TARGET_DIR: targetDir,
      CARGO_ENCODED_RUSTFLAGS: [...FLAGS, ...remapped].join('\x1f'),
    },
  })
  if (run.status !== 0) throw new Error('the engine does not compile: see the errors above')
  return readFileSync(join(targetDir, TARGET, 'release', 'bursar_mpc_engine.wasm'))
}

/**
 * @template T
 * @param {(directory: string) => T} work
 */
function inTargetDir(work) {
  const given = process.env.CARGO_TARGET_DIR
  if (given !== undefined) return work(given)
  const directory = mkdtempSync(join(tmpdir(), 'mpc-engine-'))
  try {
    return work(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function build() {
  const compiler = toolchain()
  if (compiler === null)
    throw new Error(
      `no Rust toolchain found: install rustc-web, cargo-web, rust-web-src and lld-19, or set RUSTC and CARGO`,
    )
  const module = inTargetDir(compile)
  writeFileSync(MODULE, module)
  const record = {
    crate: 'dkls23-core 0.6.2',
    compiler,
    flags: FLAGS,
    sources: sourcesDigest(),
    module: sha256(module),
  }
  writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`)
  console.log(`Built ${MODULE}: ${module.length} bytes, SHA-256 ${record.module}`)
}

function check() {
  const record = JSON.parse(readFileSync(RECORD, 'utf8'))
  if (sha256(readFileSync(MODULE)) !== record.module)
    throw new Error('engine.wasm is not the module that engine.json records')
  if (sourcesDigest() !== record.sources)
    throw new Error('the sources of the engine changed: run "npm run mpc-engine" and commit the result')
  const compiler = toolchain()
  if (compiler !== record.compiler) {
    const found = compiler ?? 'none'
    console.log(
      `engine.wasm is the recorded module. It was NOT rebuilt, because that requires ${record.compiler}, but the compiler here is ${found}`,
    )
    return
  }
  if (sha256(inTargetDir(compile)) !== record.module)
    throw new Error('the module built from the sources differs from engine.wasm')
  console.log('the module built from the sources is identical to engine.wasm')
}

try {
  if (process.argv.includes('--check')) check()
  else build()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

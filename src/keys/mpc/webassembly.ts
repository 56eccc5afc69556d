/**
 * The parts of the WebAssembly JavaScript API used here. Node supports it, but its types only ship with those of
 * browsers.
 */

type Import = { readonly module: string; readonly name: string }
export type WasmModule = { readonly compiled: true }
export type WasmMemory = { readonly buffer: ArrayBuffer }

type Interface = {
  readonly Module: {
    new (bytes: Uint8Array): WasmModule
    imports(module: WasmModule): readonly Import[]
  }
  readonly Instance: new (
    module: WasmModule,
    imports: Readonly<Record<string, Readonly<Record<string, (...values: number[]) => void>>>>,
  ) => { readonly exports: unknown }
}

export const wasm = (globalThis as unknown as { readonly WebAssembly: Interface }).WebAssembly

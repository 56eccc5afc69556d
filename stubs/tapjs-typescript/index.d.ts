export declare const plugin: () => object

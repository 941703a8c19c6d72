import Foundation
import RemoteRecordStore

/// Servers that run already.
enum RunningServer {
    /// A way to the server that has a data folder open, `nil` when none does, or when another one answers at its address. To be closed.
    static func engine(of file: ServerFile) async throws -> (engine: RemoteRecordEngine, address: ServerAddress)? {
        guard let entry = file.entry, let address = try? ServerAddress(entry.address), let engine = try await engine(at: address) else { return nil }
        if (try? await engine.instance()) == entry.instance { return (engine, address) }
        await engine.close()
        return nil
    }

    /// A way to the server at an address, `nil` when none answers there. To be closed.
    static func engine(at address: ServerAddress) async throws -> RemoteRecordEngine? {
        let engine = try RemoteRecordEngine(url: address.url)
        do {
            _ = try await engine.checkHealth()
            return engine
        } catch {
            await engine.close()
            return nil
        }
    }
}

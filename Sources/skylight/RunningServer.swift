import Foundation
import RemoteRecordStore

/// Servers that run already.
enum RunningServer {
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

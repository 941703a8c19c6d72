import AssetStore
import DataTransfer
import NIOCore
import Records
import RecordStore
import RemoteRecordStore

/// The asset files of one container's environment, in an open folder or on a running server.
struct AssetPlace: Sendable, CustomStringConvertible {
    private enum Way {
        case local(AssetStores)
        case remote(RemoteRecordEngine)
    }

    /// The size limit in bytes of a file that a command uploads, which is the limit of receipts.
    static let sizeLimit: Int64 = 1 << 47

    let container: ContainerID
    let environment: Environment
    private let way: Way

    init(_ container: ContainerID, _ environment: Environment, of stores: AssetStores) {
        (self.container, self.environment) = (container, environment)
        way = .local(stores)
    }

    init(_ container: ContainerID, _ environment: Environment, of server: RemoteRecordEngine) {
        (self.container, self.environment) = (container, environment)
        way = .remote(server)
    }

    var description: String { "\(container) (\(environment.rawValue))" }

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        switch way {
        case .local(let stores): try await stores.store(container, environment).verify(progress)
        case .remote(let engine): try await engine.verifyAssets(container, environment, progress)
        }
    }

    /// - Parameter graceTime: the time that unused files are kept; `nil` for the default of the server, or a day.
    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep {
        switch way {
        case .local(let stores):
            try await stores.store(container, environment).sweep(graceTime: graceTime ?? AssetStores.defaultGraceTime, dryRun: dryRun)
        case .remote(let engine): try await engine.sweepAssets(container, environment, graceTime: graceTime, dryRun: dryRun)
        }
    }

    /// True if the file is stored.
    func holds(_ checksum: FileChecksum) async throws -> Bool {
        switch way {
        case .local(let stores): return try await stores.existingStore(container, environment)?.ledger.entry(of: checksum) != nil
        case .remote(let engine):
            do {
                _ = try await engine.downloadURL(of: checksum, in: container, environment)
                return true
            } catch let error as RecordError where error.code == .notFound {
                return false
            }
        }
    }

    /// The transport for asset bytes.
    func transport() async throws -> any AssetTransport {
        switch way {
        case .local(let stores): StoredAssets(try await stores.store(container, environment))
        case .remote(let engine): RemoteAssets(engine: engine, container: container, environment: environment)
        }
    }
}

import AssetStore
import DataTransfer
import NIOCore
import Records
import RecordStore
import RemoteRecordStore

/// The asset files of one container's environment, in an open folder or on a running server.
protocol EnvironmentAssets: Sendable {
    var container: ContainerID { get }
    var environment: Environment { get }

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification
    /// - Parameter graceTime: the time that unused files are kept; `nil` for the default of the server, or a day.
    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep
    /// True if the file is stored.
    func holds(_ checksum: FileChecksum) async throws -> Bool
    /// The transport for asset bytes.
    func transport() async throws -> any AssetTransport
}

extension EnvironmentAssets {
    /// The container and the environment in words.
    var place: String { "\(container) (\(environment.rawValue))" }
}

struct LocalAssets: EnvironmentAssets {
    let stores: AssetStores
    let container: ContainerID
    let environment: Environment

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        try await stores.store(container, environment).verify(progress)
    }

    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep {
        try await stores.store(container, environment).sweep(graceTime: graceTime ?? AssetStores.defaultGraceTime, dryRun: dryRun)
    }

    func holds(_ checksum: FileChecksum) async throws -> Bool {
        try await stores.existingStore(container, environment)?.ledger.entry(of: checksum) != nil
    }

    func transport() async throws -> any AssetTransport {
        StoredAssets(try await stores.store(container, environment))
    }
}

struct RemoteAssets: EnvironmentAssets, AssetTransport {
    let engine: RemoteRecordEngine
    let container: ContainerID
    let environment: Environment

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        try await engine.verifyAssets(container, environment, progress)
    }

    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep {
        try await engine.sweepAssets(container, environment, graceTime: graceTime, dryRun: dryRun)
    }

    func holds(_ checksum: FileChecksum) async throws -> Bool {
        do {
            _ = try await engine.downloadURL(of: checksum, in: container, environment)
            return true
        } catch let error as RecordError where error.code == .notFound {
            return false
        }
    }

    func transport() -> any AssetTransport { self }

    func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
        try await engine.upload(file, size: file.size, with: grant, to: container, environment, fileName: fileName)
    }

    func download(_ checksum: FileChecksum, size: Int64, _ take: (ByteBuffer) async throws -> Void) async throws {
        for try await part in try await engine.download(checksum, in: container, environment) { try await take(part) }
    }
}

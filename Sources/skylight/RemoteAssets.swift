import DataTransfer
import NIOCore
import Records
import RecordStore
import RemoteRecordStore

/// The transport for asset bytes to and from a running server.
struct RemoteAssets: AssetTransport {
    let engine: RemoteRecordEngine
    let container: ContainerID
    let environment: Environment

    func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
        try await engine.upload(file, size: file.size, with: grant, to: container, environment, fileName: fileName)
    }

    func download(_ checksum: FileChecksum, size: Int64, _ take: (ByteBuffer) async throws -> Void) async throws {
        for try await part in try await engine.download(checksum, in: container, environment) { try await take(part) }
    }
}

public import AssetStore
internal import JSON
public import NIOCore
internal import NIOHTTP1
public import RecordStore
public import Records

extension RemoteRecordEngine {
    /// Looks at every file and every reference on the server (docs/services.md). Ends when the task is cancelled, here and there.
    /// - Parameter progress: is told how far it is, some times a second.
    /// - Throws: `RecordError` NOT_FOUND when there is no such container.
    public func verifyAssets(
        _ container: ContainerID, _ environment: Environment, _ progress: @Sendable (AssetVerification) async -> Void = { _ in }
    ) async throws -> AssetVerification {
        for try await line in try await server.lines(.GET, Self.path(container, environment, "verify")) {
            if let error = line.error { throw error }
            let found = try line.verification()
            if try line.string("verification") == "finished" { return found }
            await progress(found)
        }
        throw RecordError(.tryAgainLater, "The connection to \(server.address) was lost before the verification came to its end")
    }

    /// Removes files on the server that nothing uses (docs/services.md). Ends when the task is cancelled, here and there.
    /// - Parameters:
    ///   - graceTime: how long files are kept that nothing uses, in whole seconds; `nil` for as long as the server does by itself.
    ///   - dryRun: whether only to say what would be removed.
    /// - Throws: `RecordError` NOT_FOUND when there is no such container.
    public func sweepAssets(
        _ container: ContainerID, _ environment: Environment, graceTime: Duration? = nil, dryRun: Bool = false
    ) async throws -> AssetSweep {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("dryRun", dryRun)
            if let graceTime { writer.member("graceSeconds", graceTime.components.seconds) }
        }
        for try await line in try await server.lines(.POST, Self.path(container, environment, "sweep"), writer.bytes) {
            if let error = line.error { throw error }
            if try line.string("sweep") == "finished" { return try line.sweep() }
        }
        throw RecordError(.tryAgainLater, "The connection to \(server.address) was lost before the sweep came to its end")
    }

    /// Where the bytes of an asset can be fetched, for an hour at least.
    /// - Throws: `RecordError` NOT_FOUND when the server has no such file.
    public func downloadURL(of checksum: FileChecksum, in container: ContainerID, _ environment: Environment) async throws -> String {
        try await server.get(Self.path(container, environment, "facts"), parameters: ["fileChecksum": checksum.description]).string("downloadURL")
    }

    /// Fetches the bytes of an asset as they are read, from an address that ``downloadURL(of:in:_:)`` or a record's JSON says.
    /// - Parameter offset: how many bytes at the beginning to leave out.
    /// - Throws: `RecordError` NOT_FOUND when there is no file at the address, BAD_REQUEST when it has expired (status 410), is not the address
    ///   of an asset, or the file has no more bytes than are left out.
    public func download(_ url: String, from offset: Int64 = 0) async throws -> AssetDownload {
        try await server.download(url, from: offset)
    }

    /// Fetches the bytes of an asset as they are read.
    public func download(
        _ checksum: FileChecksum, in container: ContainerID, _ environment: Environment, from offset: Int64 = 0
    ) async throws -> AssetDownload {
        try await download(try await downloadURL(of: checksum, in: container, environment), from: offset)
    }

    /// Uploads a file as its bytes come.
    /// - Parameters:
    ///   - grant: what `grantUploads` of a database in the same container and environment answered.
    ///   - size: how many bytes there will be; `nil` when that is not known.
    ///   - fileName: what the file is called, for people and for downloads.
    /// - Returns: what a record is to be saved with, in the field that the grant is for.
    /// - Throws: `RecordError` QUOTA_EXCEEDED when the file is too large for the server, NOT_FOUND or BAD_REQUEST when the grant is not good or
    ///   not any more; what the body throws.
    public func upload<Body: AsyncSequence & Sendable>(
        _ body: Body, size: Int64?, with grant: UploadGrant, to container: ContainerID, _ environment: Environment, fileName: String? = nil
    ) async throws -> Asset where Body.Element == ByteBuffer {
        let path = "\(AssetPath.root)\(container)/\(environment.rawValue)/upload/\(grant.ticket)"
        let headers: HTTPHeaders = fileName.map { ["X-Skylight-File-Name": AssetPath.encoded($0)] } ?? [:]
        return try await server.upload(path, body, size: size, headers: headers).object("singleFile").asset()
    }

    private static func path(_ container: ContainerID, _ environment: Environment, _ action: String) -> String {
        "/skylight/1/\(container)/\(environment.rawValue)/assets/\(action)"
    }
}

public import AssetStore
internal import JSON
public import NIOCore
internal import NIOHTTP1
public import RecordStore
public import Records
internal import Text

extension RemoteRecordEngine {
    /// Verifies all files and references on the server (docs/services.md). Cancelling the task ends the verification on the server too.
    /// - Parameter progress: receives the findings so far, several times a second.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist.
    public func verifyAssets(
        _ container: ContainerID, _ environment: Environment, _ progress: @Sendable (AssetVerification) async -> Void = { _ in }
    ) async throws -> AssetVerification {
        for try await line in try await server.lines(.GET, Self.path(container, environment, "verify")) {
            if let error = line.error { throw error }
            let found = try line.verification()
            if try line.string("verification") == "finished" { return found }
            await progress(found)
        }
        throw RecordError(.tryAgainLater, "The connection to \(server.address) was lost before the verification finished")
    }

    /// Removes unused files on the server (docs/services.md). Cancelling the task ends the sweep on the server too.
    /// - Parameters:
    ///   - graceTime: the time that unused files are kept, in whole seconds; `nil` for the server's own setting.
    ///   - dryRun: true to only report what would be removed.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist.
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
        throw RecordError(.tryAgainLater, "The connection to \(server.address) was lost before the sweep finished")
    }

    /// The download address of an asset, valid for at least an hour.
    /// - Throws: `RecordError` NOT_FOUND if the server has no such file.
    public func downloadURL(of checksum: FileChecksum, in container: ContainerID, _ environment: Environment) async throws -> String {
        try await server.get(Self.path(container, environment, "facts"), parameters: ["fileChecksum": checksum.description]).string("downloadURL")
    }

    /// Downloads the bytes of an asset as a stream, from an address of ``downloadURL(of:in:_:)`` or of a record's JSON.
    /// - Parameter offset: the number of bytes to skip at the beginning.
    /// - Throws: `RecordError` NOT_FOUND if the file does not exist, BAD_REQUEST if the address has
    ///   expired (status 410) or is not an asset address, or if the offset is not within the file.
    public func download(_ url: String, from offset: Int64 = 0) async throws -> AssetDownload {
        try await server.download(url, from: offset)
    }

    /// Downloads the bytes of an asset as a stream.
    public func download(
        _ checksum: FileChecksum, in container: ContainerID, _ environment: Environment, from offset: Int64 = 0
    ) async throws -> AssetDownload {
        try await download(try await downloadURL(of: checksum, in: container, environment), from: offset)
    }

    /// Uploads a file as a stream.
    /// - Parameters:
    ///   - grant: an answer of `grantUploads` from a database of the same container and environment.
    ///   - size: the number of bytes; `nil` if it is unknown.
    ///   - fileName: the display name of the file, also for downloads.
    /// - Returns: the asset to save in the record field of the grant.
    /// - Throws: `RecordError` QUOTA_EXCEEDED if the file exceeds the server's limit,
    ///   NOT_FOUND or BAD_REQUEST if the grant is invalid or expired; errors of the body.
    public func upload<Body: AsyncSequence & Sendable>(
        _ body: Body, size: Int64?, with grant: UploadGrant, to container: ContainerID, _ environment: Environment, fileName: String? = nil
    ) async throws -> Asset where Body.Element == ByteBuffer {
        let path = "\(AssetPath.root)\(container)/\(environment.rawValue)/upload/\(grant.ticket)"
        let headers: HTTPHeaders = fileName.map { ["X-Skylight-File-Name": PercentEncoding.encoded($0)] } ?? [:]
        return try await server.upload(path, body, size: size, headers: headers).object("singleFile").asset()
    }

    private static func path(_ container: ContainerID, _ environment: Environment, _ action: String) -> String {
        "/skylight/1/\(container)/\(environment.rawValue)/assets/\(action)"
    }
}

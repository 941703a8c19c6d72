public import AssetStore
internal import AsyncHTTPClient
internal import CloudKitClient
internal import Foundation
public import NIOCore
internal import NIOHTTP1
public import RecordStore
public import Records

extension RemoteDatabase {
    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        var uses = try await line.ask(DatabaseServices.assetUses, (checksum, PageLimit(records: limit)))
        uses.visible = Array(uses.visible.prefix(max(0, limit)))
        return uses
    }
}

// MARK: - Files

extension RemoteRecordEngine {
    /// Verifies all files and references on the server (docs/services.md). Cancelling the task ends the verification on
    /// the server too.
    /// - Parameter progress: receives the findings so far, several times a second.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist.
    public func verifyAssets(
        _ container: ContainerID, _ environment: Environment,
        _ progress: @Sendable (AssetVerification) async -> Void = { _ in }
    ) async throws -> AssetVerification {
        for try await line in try await server.lines(Self.path(container, environment, "verify")) {
            if let error = line.error { throw error }
            let (found, isFinished) = try line.read { line in
                var found = try AssetVerification.form.read(line)
                found.problems = try [AssetVerification.Problem]?.member("problems", of: line) ?? []
                return (found, try line.string("verification") == "finished")
            }
            if isFinished { return found }
            await progress(found)
        }
        throw RecordError(
            .tryAgainLater, "The connection to \(server.address) was lost before the verification finished")
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
        for try await line in try await server.lines(Self.path(container, environment, "sweep"), writer.bytes) {
            if let error = line.error { throw error }
            if try line.read({ try $0.string("sweep") == "finished" }) { return try line.read(AssetSweep.form.read) }
        }
        throw RecordError(.tryAgainLater, "The connection to \(server.address) was lost before the sweep finished")
    }

    /// True if the server has the file.
    public func holds(_ checksum: FileChecksum, in container: ContainerID, _ environment: Environment) async throws
        -> Bool
    {
        do {
            _ = try await facts(of: checksum, in: container, environment)
            return true
        } catch let error as RecordError where error.code == .notFound {
            return false
        }
    }

    /// Downloads the file of an asset, streamed with backpressure. A broken connection is resumed.
    /// - Parameters:
    ///   - offset: the number of bytes to skip, because the caller already has them.
    ///   - take: receives the bytes in order. The next part is only read after it returns.
    /// - Returns: the size of the whole file in bytes.
    /// - Throws: `RecordError` NOT_FOUND if the server has no such file, BAD_REQUEST if the offset is not within it,
    ///   TRY_AGAIN_LATER if the connection broke, or the bytes came too slowly; errors of `take`.
    @discardableResult
    public func download(
        _ checksum: FileChecksum, in container: ContainerID, _ environment: Environment, from offset: Int64 = 0,
        _ take: (ByteBuffer) async throws -> Void
    ) async throws -> Int64 {
        let facts = try await facts(of: checksum, in: container, environment)
        let (size, address) = try facts.read {
            (try Int64.member("size", of: $0), try String.member("downloadURL", of: $0))
        }
        let file = ReceivedAsset(
            asset: Asset(fileChecksum: checksum.description, size: size),
            downloadURL: try server.ownAddress(of: address))
        let client = files(container, environment)
        var parts = try await server.asking { try client.download(file, from: offset) }.makeAsyncIterator()
        while let part = try await server.asking({ try await parts.next() }) { try await take(part) }
        return file.asset.size
    }

    private func facts(of checksum: FileChecksum, in container: ContainerID, _ environment: Environment)
        async throws -> Answer
    {
        try await server.get(
            Self.path(container, environment, "facts"), parameters: ["fileChecksum": checksum.description])
    }

    /// A client for files, whose addresses are the credentials. They may take as long as they keep moving.
    private func files(
        _ container: ContainerID, _ environment: Environment, headers: HTTPHeaders = [:]
    ) -> DatabaseClient {
        server.database(
            DatabaseAddress(container: container, environment: environment, scope: .private), .reads, headers: headers
        ).withFilePatience(.seconds(30))
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
        _ body: Body, size: Int64?, with grant: UploadGrant, to container: ContainerID, _ environment: Environment,
        fileName: String? = nil
    ) async throws -> Asset where Body.Element == ByteBuffer {
        let path = "\(AssetPath.root)\(container)/\(environment.rawValue)/upload/\(grant.ticket)"
        let slot = UploadSlot(
            recordName: grant.recordName, fieldName: grant.fieldName, url: server.address + path)
        let headers: HTTPHeaders = fileName.map { ["X-Skylight-File-Name": PercentEncoding.encoded($0)] } ?? [:]
        let client = files(container, environment, headers: headers)
        return try await server.asking {
            do {
                return try await client.upload(to: slot, size: size) { body }
            } catch let failure as CloudKitFailure {
                guard case .connectionLost(let reason) = failure.kind, server.isOpen else { throw failure }
                throw server.changeLost(reason)
            }
        }
    }

    private static func path(_ container: ContainerID, _ environment: Environment, _ action: String) -> String {
        "/skylight/1/\(container)/\(environment.rawValue)/assets/\(action)"
    }
}

extension ServerClient {
    /// The address of a file on this server. The host is ignored, because the server may have several names.
    func ownAddress(of url: String) throws -> String {
        guard let path = URL(string: url)?.path(percentEncoded: true), path.hasPrefix(AssetPath.root) else {
            throw RecordError(.badRequest, "'\(url)' is not the address of an asset on the server at \(address)")
        }
        return address + path
    }
}

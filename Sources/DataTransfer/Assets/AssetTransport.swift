public import NIOCore
public import RecordStore
public import Records

/// The way of assets' bytes into and out of a container's environment, wherever that is.
public protocol AssetTransport: Sendable {
    /// Uploads a file.
    /// - Parameters:
    ///   - grant: from a database of the same container and environment.
    ///   - fileName: what the file is called, for people and for downloads.
    /// - Returns: what the record is to be saved with, with its receipt.
    /// - Throws: `RecordError` QUOTA_EXCEEDED when the file is too large there; what reading the file throws.
    func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset

    /// Fetches the bytes of an asset.
    /// - Parameter take: is given them part by part, in their order, the next one when it is done with the one before.
    /// - Throws: `RecordError`; what `take` throws.
    func download(_ checksum: FileChecksum, size: Int64, _ take: (ByteBuffer) async throws -> Void) async throws
}

public import NIOCore
public import Records

/// A file that is open for reading. As long as it is held its bytes are there, and no sweep removes them; it is closed when it is let go.
public final class AssetFile: Sendable {
    /// The forms that a file is kept in.
    public enum Coding: Sendable, Hashable {
        case identity
        /// Compressed in gzip format.
        case gzip
    }

    public let checksum: FileChecksum
    /// The form that was found: identity where no compressed form is kept.
    public let coding: Coding
    /// Bytes of this form.
    public let size: Int64
    /// Bytes of the file itself.
    public let identitySize: Int64
    /// When it was stored, in seconds since 1970.
    public let modified: Int64
    /// What the bytes look like.
    public let type: AssetType
    /// Only to be read from. It must not be closed, nor used after this object was let go.
    public let handle: NIOFileHandle

    private let file: DiskFile
    private let hold: FileHold

    init(_ file: DiskFile, held hold: FileHold, coding: Coding, size: Int64, identitySize: Int64, modified: Int64, type: AssetType) {
        checksum = hold.checksum
        self.coding = coding
        self.size = size
        self.identitySize = identitySize
        self.modified = modified
        self.type = type
        self.file = file
        self.hold = hold
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    }

    deinit {
        // The descriptor belongs to the file, which closes it now.
        // It was given up before where this fails.
        _ = try? handle.takeDescriptorOwnership()
    }
}

/// A file type, detected from the first bytes. The file name is not used.
public struct AssetType: Sendable, Hashable {
    /// The kind of preview in a browser.
    public enum Preview: String, Sendable, Hashable {
        case image, audio, video, text, json, propertyList, none
    }

    /// The `Content-Type`. Types that a browser would execute, such as HTML and XML, become plain text.
    /// SVG images keep their type, because pages can't show them otherwise. Scripts do not run in images.
    public let mediaType: String
    /// The usual file extension, without the dot.
    public let fileExtension: String
    public let preview: Preview
    /// True if gzip is likely to reduce the size.
    public let isCompressible: Bool

    init(_ mediaType: String, _ fileExtension: String, _ preview: Preview = .none, compressible: Bool = false) {
        self.mediaType = mediaType
        self.fileExtension = fileExtension
        self.preview = preview
        isCompressible = compressible
    }
}

extension AssetType {
    // Images
    static let png = AssetType("image/png", "png", .image)
    static let jpeg = AssetType("image/jpeg", "jpg", .image)
    static let gif = AssetType("image/gif", "gif", .image)
    static let webP = AssetType("image/webp", "webp", .image)
    static let avif = AssetType("image/avif", "avif", .image)
    // Most browsers can't display these two types.
    static let heic = AssetType("image/heic", "heic")
    static let tiff = AssetType("image/tiff", "tiff", compressible: true)
    static let bmp = AssetType("image/bmp", "bmp", .image, compressible: true)
    static let icon = AssetType("image/x-icon", "ico", .image, compressible: true)
    static let svg = AssetType("image/svg+xml", "svg", .image, compressible: true)

    // Audio and video
    static let mp4 = AssetType("video/mp4", "mp4", .video)
    static let quickTime = AssetType("video/quicktime", "mov", .video)
    static let mobileVideo = AssetType("video/3gpp", "3gp", .video)
    static let webM = AssetType("video/webm", "webm", .video)
    static let matroska = AssetType("video/x-matroska", "mkv", .video)
    static let avi = AssetType("video/x-msvideo", "avi")
    static let oggVideo = AssetType("video/ogg", "ogv", .video)
    static let oggAudio = AssetType("audio/ogg", "ogg", .audio)
    static let mp3 = AssetType("audio/mpeg", "mp3", .audio)
    static let aac = AssetType("audio/aac", "aac", .audio)
    static let m4a = AssetType("audio/mp4", "m4a", .audio)
    static let wave = AssetType("audio/wav", "wav", .audio)
    static let aiff = AssetType("audio/aiff", "aiff", .audio)
    static let flac = AssetType("audio/flac", "flac", .audio)

    // Archives and other containers
    static let pdf = AssetType("application/pdf", "pdf")
    static let zip = AssetType("application/zip", "zip")
    static let gzip = AssetType("application/gzip", "gz")
    static let bzip2 = AssetType("application/x-bzip2", "bz2")
    static let xz = AssetType("application/x-xz", "xz")
    static let zstandard = AssetType("application/zstd", "zst")
    static let sevenZip = AssetType("application/x-7z-compressed", "7z")
    static let tar = AssetType("application/x-tar", "tar", compressible: true)
    static let sqlite = AssetType("application/vnd.sqlite3", "sqlite", compressible: true)

    // Text
    static let text = AssetType("text/plain; charset=utf-8", "txt", .text, compressible: true)
    static let wideText = AssetType("text/plain; charset=utf-16", "txt", .text, compressible: true)
    static let html = AssetType("text/plain; charset=utf-8", "html", .text, compressible: true)
    static let xml = AssetType("text/plain; charset=utf-8", "xml", .text, compressible: true)
    static let json = AssetType("application/json", "json", .json, compressible: true)
    static let propertyList = AssetType("application/x-plist", "plist", .propertyList, compressible: true)

    /// The default type, also for empty files.
    static let bytes = AssetType("application/octet-stream", "bin", compressible: true)
}

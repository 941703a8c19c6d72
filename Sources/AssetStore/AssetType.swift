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

// MARK: - Detection

extension AssetType {
    /// The number of bytes that the detection examines.
    static let beginningLength = 4096

    /// - Parameter isWhole: true if these are all bytes of the file.
    public init(beginning: [UInt8], isWhole: Bool) {
        self = Self.known(beginning) ?? Self.text(beginning, isWhole: isWhole) ?? .bytes
    }

    /// Detects the type from the beginning of a file. Blocks.
    init(beginningOf file: DiskFile, size: Int64) throws(DiskFailure) {
        var bytes = [UInt8](repeating: 0, count: Self.beginningLength)
        var failure: DiskFailure?
        let count = bytes.withUnsafeMutableBytes { space in
            do throws(DiskFailure) { return try file.read(into: space, at: 0) } catch { failure = error }
            return 0
        }
        if let failure { throw failure }
        self.init(beginning: Array(bytes.prefix(count)), isWhole: Int64(count) >= size)
    }

    // MARK: Types with a magic number

    private static let marks: [(mark: [UInt8], type: AssetType)] = [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png),
        ([0xFF, 0xD8, 0xFF], .jpeg),
        (Array("GIF87a".utf8), .gif),
        (Array("GIF89a".utf8), .gif),
        ([0x49, 0x49, 0x2A, 0x00], .tiff),
        ([0x4D, 0x4D, 0x00, 0x2A], .tiff),
        ([0x00, 0x00, 0x01, 0x00], .icon),
        (Array("fLaC".utf8), .flac),
        (Array("ID3".utf8), .mp3),
        (Array("%PDF-".utf8), .pdf),
        ([0x50, 0x4B, 0x03, 0x04], .zip),
        ([0x50, 0x4B, 0x05, 0x06], .zip),
        ([0x1F, 0x8B, 0x08], .gzip),
        (Array("BZh".utf8), .bzip2),
        ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], .xz),
        ([0x28, 0xB5, 0x2F, 0xFD], .zstandard),
        ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], .sevenZip),
        (Array("bplist0".utf8), .propertyList),
        (Array("SQLite format 3\0".utf8), .sqlite),
    ]

    private static func known(_ bytes: [UInt8]) -> AssetType? {
        if let type = marks.first(where: { bytes.starts(with: $0.mark) })?.type { return type }
        if holds("ftyp", in: bytes, at: 4) { return isoMedia(bytes) }
        if holds("RIFF", in: bytes, at: 0) {
            if holds("WEBP", in: bytes, at: 8) { return .webP }
            if holds("WAVE", in: bytes, at: 8) { return .wave }
            if holds("AVI ", in: bytes, at: 8) { return .avi }
        }
        if holds("FORM", in: bytes, at: 0), holds("AIFF", in: bytes, at: 8) || holds("AIFC", in: bytes, at: 8) {
            return .aiff
        }
        if holds("OggS", in: bytes, at: 0) { return contains("theora", in: bytes.prefix(256)) ? .oggVideo : .oggAudio }
        if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            return contains("webm", in: bytes.prefix(64)) ? .webM : .matroska
        }
        // The magic number of two letters is too short, so this also checks the four zero bytes after the length.
        if holds("BM", in: bytes, at: 0), bytes.count > 26, bytes[6..<10].allSatisfy({ $0 == 0 }) { return .bmp }
        if holds("ustar", in: bytes, at: 257) { return .tar }
        return audioFrames(bytes)
    }

    /// The MP4 family, distinguished by the brand in the first box.
    private static func isoMedia(_ bytes: [UInt8]) -> AssetType {
        let brand = String(decoding: bytes.dropFirst(8).prefix(4), as: UTF8.self)
        switch brand {
        case "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1":
            return contains("avif", in: bytes.prefix(64)) ? .avif : .heic
        case "avif", "avis": return .avif
        case "M4A ", "M4B ", "M4P ": return .m4a
        case "qt  ": return .quickTime
        default: return brand.hasPrefix("3g") ? .mobileVideo : .mp4
        }
    }

    /// MPEG audio without leading metadata: the sync word of eleven bits, followed by a valid frame
    /// header. Layer I is not detected, because it begins like UTF-16 text and is practically unused.
    private static func audioFrames(_ bytes: [UInt8]) -> AssetType? {
        guard bytes.count > 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        let (version, layer) = (bytes[1] >> 3 & 3, bytes[1] >> 1 & 3)
        if bytes[1] & 0xF6 == 0xF0 { return bytes[2] >> 2 & 15 < 13 ? .aac : nil }
        let (rate, frequency) = (bytes[2] >> 4, bytes[2] >> 2 & 3)
        return version != 1 && (1...2).contains(layer) && rate != 0 && rate != 15 && frequency != 3 ? .mp3 : nil
    }

    private static func holds(_ text: StaticString, in bytes: [UInt8], at place: Int) -> Bool {
        guard bytes.count >= place + text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { bytes[place..<(place + $0.count)].elementsEqual($0) }
    }

    private static func contains(_ text: StaticString, in bytes: ArraySlice<UInt8>) -> Bool {
        text.withUTF8Buffer { text in
            bytes.indices.contains {
                bytes.endIndex - $0 >= text.count && bytes[$0..<($0 + text.count)].elementsEqual(text)
            }
        }
    }

    // MARK: Text

    private static func text(_ bytes: [UInt8], isWhole: Bool) -> AssetType? {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return .wideText }
        guard !bytes.isEmpty, isText(bytes, isWhole: isWhole) else { return nil }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let text = skippingSpace(bytes[start...])
        switch text.first {
        case UInt8(ascii: "<"): return markup(text)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return isJSON(text, isWhole: isWhole) ? .json : .text
        default: return .text
        }
    }

    /// True for UTF-8 without control characters. The last character may be truncated.
    private static func isText(_ bytes: [UInt8], isWhole: Bool) -> Bool {
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (0x08...0x0D).contains($0) || $0 == 0x1B }) else {
            return false
        }
        if isWhole { return String(validating: bytes, as: UTF8.self) != nil }
        return (0..<4).contains { cut in String(validating: bytes.dropLast(cut), as: UTF8.self) != nil }
    }

    private static func skippingSpace(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    }

    private static func isJSON(_ text: ArraySlice<UInt8>, isWhole: Bool) -> Bool {
        if isWhole {
            let last = text.last { $0 != 0x20 && !(0x09...0x0D).contains($0) }
            guard last == UInt8(ascii: "}") || last == UInt8(ascii: "]") else { return false }
        }
        let inside = skippingSpace(text.dropFirst())
        guard let next = inside.first else { return !isWhole }
        if text.first == UInt8(ascii: "{") { return next == UInt8(ascii: "\"") || next == UInt8(ascii: "}") }
        if ["true", "false", "null"].contains(where: { inside.starts(with: $0.utf8) }) { return true }
        return "\"{[]-0123456789".utf8.contains(next)
    }

    /// The type of a text that begins with a tag, from the first tag that is neither a declaration nor a comment.
    private static func markup(_ bytes: ArraySlice<UInt8>) -> AssetType {
        var text = Substring(String(decoding: bytes, as: UTF8.self).lowercased())
        var isXML = false
        while text.first == "<" {
            if text.hasPrefix("<!--") {
                guard let end = text.firstRange(of: "-->") else { break }
                text = text[end.upperBound...]
            } else if text.hasPrefix("<?") {
                isXML = isXML || text.hasPrefix("<?xml")
                guard let end = text.firstRange(of: "?>") else { break }
                text = text[end.upperBound...]
            } else if text.hasPrefix("<!doctype") {
                if text.hasPrefix("<!doctype plist") { return .propertyList }
                if text.hasPrefix("<!doctype html") { return .html }
                guard let end = text.firstIndex(of: ">") else { break }
                text = text[text.index(after: end)...]
            } else {
                break
            }
            text = text.drop(while: \.isWhitespace)
        }
        if text.hasPrefix("<svg") { return .svg }
        if text.hasPrefix("<plist") { return .propertyList }
        return isXML && !text.hasPrefix("<html") ? .xml : .html
    }
}

import Testing

@testable import AssetStore

@Suite struct AssetTypeTests {
    private static func type(_ bytes: [UInt8], isWhole: Bool = true) -> AssetType {
        AssetType(beginning: bytes, isWhole: isWhole)
    }

    private static let zeros = [UInt8](repeating: 0, count: 32)

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// Beginnings of files: parts, one after the other.
    private static let marks: [(parts: [[UInt8]], type: AssetType)] = [
        ([[0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], zeros], .png),
        ([[0xFF, 0xD8, 0xFF, 0xE1], zeros], .jpeg),
        ([text("GIF89a"), zeros], .gif),
        ([text("RIFF"), [1, 2, 3, 4], text("WEBPVP8 ")], .webP),
        ([[0, 0, 0, 24], text("ftypheic"), [0, 0, 0, 0], text("mif1heic")], .heic),
        ([[0, 0, 0, 28], text("ftypmif1"), [0, 0, 0, 0], text("mif1avifmiaf")], .avif),
        ([[0, 0, 0, 28], text("ftypavif"), zeros], .avif),
        ([[0x49, 0x49, 0x2A, 0], zeros], .tiff),
        ([[0x4D, 0x4D, 0, 0x2A], zeros], .tiff),
        ([text("BM"), [1, 2, 0, 0], zeros], .bmp),
        ([[0, 0, 1, 0], zeros], .icon),
        ([[0, 0, 0, 24], text("ftypisom"), zeros], .mp4),
        ([[0, 0, 0, 20], text("ftypqt  "), zeros], .quickTime),
        ([[0, 0, 0, 20], text("ftyp3gp4"), zeros], .mobileVideo),
        ([[0, 0, 0, 24], text("ftypM4A "), zeros], .m4a),
        ([[0x1A, 0x45, 0xDF, 0xA3, 0x9F, 0x42, 0x82, 0x84], text("webm")], .webM),
        ([[0x1A, 0x45, 0xDF, 0xA3, 0x9F, 0x42, 0x82, 0x88], text("matroska")], .matroska),
        ([text("RIFF"), [1, 2, 3, 4], text("AVI LIST")], .avi),
        ([text("ID3"), zeros], .mp3),
        ([[0xFF, 0xFB, 0x90, 0x64], zeros], .mp3),
        ([[0xFF, 0xF1, 0x50, 0x80], zeros], .aac),
        ([text("RIFF"), [1, 2, 3, 4], text("WAVEfmt ")], .wave),
        ([text("FORM"), [1, 2, 3, 4], text("AIFFCOMM")], .aiff),
        ([text("fLaC"), zeros], .flac),
        ([text("OggS"), zeros, text("vorbis")], .oggAudio),
        ([text("OggS"), zeros, text("theora")], .oggVideo),
        ([text("%PDF-1.7\n")], .pdf),
        ([[0x50, 0x4B, 3, 4], zeros], .zip),
        ([[0x1F, 0x8B, 8], zeros], .gzip),
        ([text("BZh9"), zeros], .bzip2),
        ([[0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], zeros], .xz),
        ([[0x28, 0xB5, 0x2F, 0xFD], zeros], .zstandard),
        ([[0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], zeros], .sevenZip),
        ([[UInt8](repeating: 65, count: 257), text("ustar"), zeros], .tar),
        ([text("SQLite format 3\0"), zeros], .sqlite),
        ([text("bplist00"), zeros], .propertyList),
    ]

    @Test func marks() {
        for (parts, type) in Self.marks {
            let bytes = Array(parts.joined())
            #expect(Self.type(bytes) == type)
            #expect(Self.type(bytes, isWhole: false) == type)
        }
    }

    private static let texts: [(String, AssetType)] = [
        ("Hello", .text), (" \n", .text), ("a,b\n1,2\n", .text), ("function run() {}", .text),
        ("[section]\nkey=value", .text),
        ("{not json}", .text), ("{\"open\": ", .text), ("{}", .json), ("[]", .json), (" {\n \"a\": 1 }\n", .json),
        ("[1, 2]", .json), ("[true]", .json),
        ("\u{FEFF}[\"a\"]", .json), ("{\"a\":1}\n{\"a\":2}\n", .json),
        ("<!DOCTYPE html><p>x", .html), ("<html><script>run()</script>", .html), ("<p>", .html),
        ("<script>run()</script>", .html),
        ("<?xml version=\"1.0\"?><a/>", .xml),
        ("<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\">", .html),
        ("<svg xmlns=\"http://www.w3.org/2000/svg\">", .svg),
        ("<?xml version=\"1.0\"?>\n<!-- a drawing -->\n<!DOCTYPE svg PUBLIC \"x\" \"y\">\n<SVG>", .svg),
        ("<?xml version=\"1.0\"?>\n<!DOCTYPE plist PUBLIC \"x\" \"y\">\n<plist>", .propertyList),
        ("<plist version=\"1.0\">", .propertyList),
    ]

    @Test func texts() {
        for (text, type) in Self.texts { #expect(Self.type(Array(text.utf8)) == type, "\(text)") }
    }

    @Test func whatIsNoText() {
        #expect(Self.type([]) == .bytes)
        #expect(Self.type([0, 1, 2, 3]) == .bytes)
        #expect(Self.type(Array("text with a \0".utf8)) == .bytes)
        #expect(Self.type([0x63, 0x61, 0x66, 0xE9]) == .bytes, "another encoding than UTF-8")
        #expect(Self.type([0xFF, 0xFE, 0x41, 0]) == .wideText)
        #expect(Self.type(Array("BMW is a text".utf8)) == .text)
    }

    @Test func aCharacterMayBeCutOffAtTheEnd() {
        let text = Array("naïve 🌍".utf8)
        for cut in 0..<4 { #expect(Self.type(Array(text.dropLast(cut)), isWhole: false) == .text) }
        #expect(Self.type(Array(text.dropLast(2)), isWhole: true) == .bytes)
        // An incomplete file may still end as valid JSON.
        #expect(Self.type(Array("{\"open\": ".utf8), isWhole: false) == .json)
    }

    @Test(arguments: [AssetType.html, .xml, .text])
    func nothingIsGivenATypeThatBrowsersRun(type: AssetType) {
        #expect(type.mediaType == "text/plain; charset=utf-8")
    }
}

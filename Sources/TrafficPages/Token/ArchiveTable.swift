internal import Console
internal import Workbench

/// The objects of a pasted property list or keyed archive.
struct ArchiveTable: ViewModel {
    struct Row: ViewModel {
        /// A CSS class for the indentation of the object.
        let depth: String
        let name: String
        let kind: String
        let text: String?
        let digits: String?
        let size: String?

        func child(named name: String) -> Any? {
            switch name {
            case "depth": depth
            case "name": self.name
            case "kind": kind
            case "text": text ?? Absent()
            case "digits": digits ?? Absent()
            case "size": size ?? Absent()
            default: nil
            }
        }
    }

    /// The number of data bytes that a row shows.
    private static let shownBytes = 24
    /// The maximum indentation. Deeper objects use it too.
    private static let depths = 8

    let title: String
    let note: String
    let rows: [Row]
    let isCut: Bool

    init(_ outline: PropertyListOutline) {
        title = outline.isKeyedArchive ? "The archive's objects" : "The property list"
        let count = Digits.count(outline.objectCount, "object")
        note =
            outline.isKeyedArchive
            ? "\(count), as NSKeyedArchiver wrote them. Only a class knows the meaning of its members; data is not decoded."
            : "\(count), as stored."
        rows = outline.lines.map { line in
            let shown = line.bytes.map { bytes in
                TextForm.hex.text(of: Array(bytes.prefix(Self.shownBytes))) + (bytes.count > Self.shownBytes ? "…" : "")
            }
            return Row(
                depth: "depth\(min(line.depth, Self.depths))", name: line.name.isEmpty ? "top" : line.name, kind: line.kind, text: line.text, digits: shown,
                size: line.bytes.map { Digits.bytes(Int64($0.count)) })
        }
        isCut = outline.isCut
    }
}

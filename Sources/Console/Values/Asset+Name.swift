internal import AssetStore
internal import JSON
internal import Records

extension Asset {
    /// What people call the file: the name it came with, made harmless, or else the field's.
    func shownName(in field: Name) -> String {
        AssetFileName.safe(fileName ?? field.string)
    }
}

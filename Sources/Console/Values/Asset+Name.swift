internal import AssetStore
package import JSON
internal import Records

extension Asset {
    /// The display name of the file: its original name, made safe, or else the name of the field.
    package func shownName(in field: Name) -> String {
        AssetFileName.safe(fileName ?? field.string)
    }
}

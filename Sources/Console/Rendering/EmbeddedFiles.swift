/// The files of `Templates` and `Public`, compiled into the binary. A test compares the lists with the folders.
enum EmbeddedFiles {
    static let templates: [(name: String, bytes: [UInt8])] = [
        ("confirm", PackageResources.confirm_mustache),
        ("error", PackageResources.error_mustache),
    ]

    static let assets: [(name: String, bytes: [UInt8])] = [
        ("skylight.css", PackageResources.skylight_css),
    ]
}

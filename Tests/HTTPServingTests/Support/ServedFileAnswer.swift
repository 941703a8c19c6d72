import HTTPServing
import HTTPTypes
import Hummingbird

/// The headers of an answer with a file.
enum ServedFileAnswer {
    static func lastModified(_ seconds: Int64) async throws -> String? {
        let file = try TestFile([1])
        let (texts, text) = AsyncStream.makeStream(of: String?.self)
        try await FileServer.run(routes: { router in
            router.get("file") { request, context in
                let opened = try file.open()
                return ServedFile(
                    handle: opened.handle, size: 1, etag: "a", lastModified: seconds, headers: [:], holding: opened
                )
                .response(to: request, in: context)
            }
        }) { server in
            text.yield(try await server.answer()["last-modified"])
        }
        text.finish()
        for await value in texts { return value }
        return nil
    }
}

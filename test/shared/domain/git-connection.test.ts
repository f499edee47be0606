import { describe, expect, it } from "vitest";
import { apiRepositoryUrl } from "../../../shared/domain/git-connection.ts";

const shop = { owner: "acme", repo: "shop" };

describe("a repository in the API of its git host", () => {
  it("is at GitHub's own API, or below the address of GitHub Enterprise", () => {
    expect(apiRepositoryUrl("https://github.com", shop)).toBe("https://api.github.com/repos/acme/shop");
    expect(apiRepositoryUrl("https://git.acme.test", shop)).toBe(
      "https://git.acme.test/api/v3/repos/acme/shop",
    );
    expect(apiRepositoryUrl("http://10.0.0.7:3000/git/", shop)).toBe(
      "http://10.0.0.7:3000/git/api/v3/repos/acme/shop",
    );
  });

  it("is the one that is cloned, whatever the spelling", () => {
    const cloned = (cloneUrl: string, baseUrl = "https://git.acme.test") =>
      apiRepositoryUrl(baseUrl, { ...shop, cloneUrl });
    const expected = "https://git.acme.test/api/v3/repos/acme/shop";
    expect(cloned("https://git.acme.test/Acme/Shop")).toBe(expected);
    expect(cloned("https://git.acme.test/acme/shop.git/")).toBe(expected);
    expect(cloned("https://git.acme.test/acme/other.git")).toBeNull();
    expect(cloned("https://git.acme.test/deep/acme/shop.git")).toBeNull();
    expect(cloned("https://elsewhere.test/acme/shop.git")).toBeNull();
    expect(cloned("https://github.com/acme/shop.git", "https://github.com/acme")).toBe(
      "https://api.github.com/repos/acme/shop",
    );
    expect(cloned("https://github.com/acme/other.git", "https://github.com/acme")).toBeNull();
  });

  it("is not asked over SSH, nor at GitHub in the clear", () => {
    expect(apiRepositoryUrl("ssh://git@git.acme.test", shop)).toBeNull();
    expect(apiRepositoryUrl("http://github.com", shop)).not.toContain("api.github.com");
  });
});

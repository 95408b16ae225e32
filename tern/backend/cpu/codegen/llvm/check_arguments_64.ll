; SPDX-License-Identifier: Apache-2.0
; Made of check_arguments.c by tools/make_linked_ir.sh.

%struct.TernAny = type { i32, i32, %union.anon }
%union.anon = type { i64 }
%union.TernSlot = type { i64 }
%struct.TernNumber = type { i64, i64 }
%struct.TernPair = type { i64, i64 }
%struct.TernChecked = type { ptr, ptr, ptr, ptr, i32 }
%struct.TernMessage = type { [16 x %struct.TernAny], i32 }

@.str = private unnamed_addr constant [12 x i8] c": expected \00", align 1
@.str.1 = private unnamed_addr constant [17 x i8] c" arguments, got \00", align 1
@.str.2 = private unnamed_addr constant [10 x i8] c"TypeError\00", align 1
@.str.3 = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.4 = private unnamed_addr constant [11 x i8] c"ValueError\00", align 1
@.str.5 = private unnamed_addr constant [26 x i8] c", which the value fits in\00", align 1
@.str.6 = private unnamed_addr constant [12 x i8] c": argument \00", align 1
@.str.7 = private unnamed_addr constant [3 x i8] c" (\00", align 1
@.str.8 = private unnamed_addr constant [13 x i8] c"): expected \00", align 1
@.str.9 = private unnamed_addr constant [7 x i8] c", got \00", align 1
@.str.10 = private unnamed_addr constant [13 x i8] c"a tensor on \00", align 1
@.str.11 = private unnamed_addr constant [37 x i8] c"a tensor on the device of the others\00", align 1
@.str.12 = private unnamed_addr constant [17 x i8] c" tensor of rank \00", align 1
@.str.13 = private unnamed_addr constant [30 x i8] c"strides, got a tensor without\00", align 1
@.str.14 = private unnamed_addr constant [71 x i8] c"a tensor without byte offset (a kernel that is given as code takes it)\00", align 1
@.str.15 = private unnamed_addr constant [17 x i8] c"data aligned to \00", align 1
@.str.16 = private unnamed_addr constant [7 x i8] c" bytes\00", align 1
@.str.17 = private unnamed_addr constant [8 x i8] c"extent \00", align 1
@.str.18 = private unnamed_addr constant [8 x i8] c"stride \00", align 1
@.str.19 = private unnamed_addr constant [17 x i8] c"a compact tensor\00", align 1
@.str.20 = private unnamed_addr constant [8 x i8] c" to be \00", align 1
@.str.21 = private unnamed_addr constant [4 x i8] c" = \00", align 1
@.str.22 = private unnamed_addr constant [36 x i8] c"memory apart from that of argument \00", align 1
@.str.23 = private unnamed_addr constant [70 x i8] c"); a function with the attribute may_alias takes tensors that overlap\00", align 1

define hidden signext range(i32 -1, 1) i32 @tern_check_arguments(ptr noundef %0, ptr noundef %1, i32 noundef signext %2, ptr noundef captures(none) %3, ptr noundef %4, i32 noundef signext %5) local_unnamed_addr #0 {
  %7 = icmp eq i32 %5, 3
  br i1 %7, label %8, label %312

8:
  %9 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %10 = load i64, ptr %9, align 8
  %11 = and i64 %10, 4
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %312, label %13

13:
  %14 = sext i32 %2 to i64
  %15 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %16 = load i64, ptr %15, align 8
  %17 = icmp eq i64 %16, %14
  br i1 %17, label %18, label %312

18:
  %19 = getelementptr inbounds nuw i8, ptr %4, i64 64
  %20 = getelementptr inbounds nuw i8, ptr %4, i64 48
  %21 = load i64, ptr %20, align 8
  %22 = getelementptr inbounds i64, ptr %19, i64 %21
  %23 = and i64 %10, 8
  %24 = icmp eq i64 %23, 0
  br i1 %24, label %77, label %25

25:
  %26 = icmp sgt i32 %2, 0
  br i1 %26, label %27, label %272

27:
  %28 = phi i64 [ %72, %71 ], [ %14, %25 ]
  %29 = phi i64 [ %73, %71 ], [ 0, %25 ]
  %30 = phi ptr [ %75, %71 ], [ %22, %25 ]
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 24
  %32 = load i64, ptr %31, align 8
  switch i64 %32, label %41 [
    i64 5, label %71
    i64 1, label %33
    i64 0, label %37
  ]

33:
  %34 = getelementptr inbounds nuw %struct.TernAny, ptr %1, i64 %29
  %35 = load i32, ptr %34, align 8
  %36 = icmp eq i32 %35, 3
  br i1 %36, label %63, label %312

37:
  %38 = getelementptr inbounds nuw %struct.TernAny, ptr %1, i64 %29
  %39 = load i32, ptr %38, align 8
  %40 = icmp eq i32 %39, 4
  br i1 %40, label %63, label %312

41:
  %42 = getelementptr inbounds nuw %struct.TernAny, ptr %1, i64 %29
  %43 = load i32, ptr %42, align 8
  %44 = icmp eq i32 %43, 1
  br i1 %44, label %45, label %312

45:
  %46 = getelementptr inbounds nuw i8, ptr %30, i64 40
  %47 = load i64, ptr %46, align 8
  %48 = icmp sgt i64 %47, 63
  br i1 %48, label %63, label %49

49:
  switch i64 %32, label %56 [
    i64 4, label %63
    i64 2, label %50
  ]

50:
  %51 = getelementptr inbounds nuw i8, ptr %42, i64 8
  %52 = load i64, ptr %51, align 8
  %53 = add nsw i64 %47, -1
  %54 = shl nuw nsw i64 1, %53
  %55 = add i64 %52, %54
  br label %59

56:
  %57 = getelementptr inbounds nuw i8, ptr %42, i64 8
  %58 = load i64, ptr %57, align 8
  br label %59

59:
  %60 = phi i64 [ %55, %50 ], [ %58, %56 ]
  %61 = lshr i64 %60, %47
  %62 = icmp eq i64 %61, 0
  br i1 %62, label %63, label %312

63:
  %64 = getelementptr inbounds nuw %struct.TernAny, ptr %1, i64 %29
  %65 = getelementptr inbounds nuw i8, ptr %64, i64 8
  %66 = load i64, ptr %65, align 8
  %67 = getelementptr inbounds nuw i8, ptr %30, i64 32
  %68 = load i64, ptr %67, align 8
  %69 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %68
  store i64 %66, ptr %69, align 8
  %70 = load i64, ptr %15, align 8
  br label %71

71:
  %72 = phi i64 [ %28, %27 ], [ %70, %63 ]
  %73 = add nuw nsw i64 %29, 1
  %74 = load i64, ptr %30, align 8
  %75 = getelementptr inbounds i64, ptr %30, i64 %74
  %76 = icmp slt i64 %73, %72
  br i1 %76, label %27, label %77

77:
  %78 = phi i64 [ %14, %18 ], [ %72, %71 ]
  %79 = icmp sgt i64 %78, 0
  br i1 %79, label %80, label %272

80:
  %81 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %82 = getelementptr inbounds nuw i8, ptr %4, i64 40
  br label %83

83:
  %84 = phi i64 [ %78, %80 ], [ %263, %262 ]
  %85 = phi ptr [ %22, %80 ], [ %268, %262 ]
  %86 = phi i64 [ 0, %80 ], [ %265, %262 ]
  %87 = phi i64 [ 0, %80 ], [ %266, %262 ]
  %88 = phi i32 [ -1, %80 ], [ %264, %262 ]
  %89 = getelementptr inbounds nuw i8, ptr %85, i64 112
  %90 = getelementptr inbounds nuw i8, ptr %85, i64 32
  %91 = load i64, ptr %90, align 8
  %92 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %91
  %93 = getelementptr inbounds nuw i8, ptr %85, i64 88
  %94 = load i64, ptr %93, align 8
  %95 = getelementptr inbounds nuw i8, ptr %85, i64 24
  %96 = load i64, ptr %95, align 8
  %97 = icmp eq i64 %96, 5
  br i1 %97, label %98, label %262

98:
  %99 = getelementptr inbounds nuw %struct.TernAny, ptr %1, i64 %87
  %100 = load i32, ptr %99, align 8
  switch i32 %100, label %312 [
    i32 7, label %101
    i32 70, label %101
  ]

101:
  %102 = getelementptr inbounds nuw i8, ptr %99, i64 8
  %103 = load ptr, ptr %102, align 8
  %104 = icmp eq i32 %100, 70
  %105 = select i1 %104, i64 24, i64 0
  %106 = getelementptr inbounds nuw i8, ptr %103, i64 %105
  %107 = getelementptr inbounds nuw i8, ptr %106, i64 20
  %108 = load i8, ptr %107, align 4
  %109 = zext i8 %108 to i64
  %110 = getelementptr inbounds nuw i8, ptr %106, i64 21
  %111 = load i8, ptr %110, align 1
  %112 = zext i8 %111 to i64
  %113 = shl nuw nsw i64 %112, 8
  %114 = or disjoint i64 %113, %109
  %115 = getelementptr inbounds nuw i8, ptr %106, i64 22
  %116 = load i16, ptr %115, align 2
  %117 = zext i16 %116 to i64
  %118 = shl nuw nsw i64 %117, 16
  %119 = or disjoint i64 %114, %118
  %120 = getelementptr inbounds nuw i8, ptr %85, i64 40
  %121 = load i64, ptr %120, align 8
  %122 = icmp eq i64 %119, %121
  br i1 %122, label %123, label %312

123:
  %124 = getelementptr inbounds nuw i8, ptr %106, i64 16
  %125 = load i32, ptr %124, align 8
  %126 = sext i32 %125 to i64
  %127 = getelementptr inbounds nuw i8, ptr %85, i64 48
  %128 = load i64, ptr %127, align 8
  %129 = icmp eq i64 %128, %126
  br i1 %129, label %130, label %312

130:
  %131 = getelementptr inbounds nuw i8, ptr %106, i64 8
  %132 = load i32, ptr %131, align 8
  %133 = sext i32 %132 to i64
  %134 = load i64, ptr %81, align 8
  %135 = icmp eq i64 %134, %133
  br i1 %135, label %136, label %312

136:
  %137 = load i64, ptr %9, align 8
  %138 = and i64 %137, 2
  %139 = icmp eq i64 %138, 0
  br i1 %139, label %140, label %157

140:
  %141 = getelementptr inbounds nuw i8, ptr %106, i64 12
  %142 = load i32, ptr %141, align 4
  %143 = icmp slt i32 %142, 0
  br i1 %143, label %312, label %144

144:
  %145 = icmp slt i32 %88, 0
  br i1 %145, label %146, label %151

146:
  %147 = zext nneg i32 %142 to i64
  %148 = load i64, ptr %82, align 8
  %149 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %148
  store i64 %147, ptr %149, align 8
  %150 = load i32, ptr %141, align 4
  br label %151

151:
  %152 = phi i32 [ %150, %146 ], [ %142, %144 ]
  %153 = phi i32 [ %142, %146 ], [ %88, %144 ]
  %154 = xor i32 %153, %152
  %155 = sext i32 %154 to i64
  %156 = or i64 %86, %155
  br label %157

157:
  %158 = phi i32 [ %88, %136 ], [ %153, %151 ]
  %159 = phi i64 [ %86, %136 ], [ %156, %151 ]
  %160 = getelementptr inbounds nuw i8, ptr %106, i64 24
  %161 = load ptr, ptr %160, align 8
  %162 = getelementptr inbounds nuw i8, ptr %85, i64 72
  %163 = load i64, ptr %162, align 8
  %164 = and i64 %163, 4
  %165 = icmp eq i64 %164, 0
  br i1 %165, label %181, label %166

166:
  %167 = load i64, ptr %127, align 8
  %168 = icmp sgt i64 %167, 0
  br i1 %168, label %169, label %213

169:
  %170 = phi i64 [ %178, %169 ], [ %159, %166 ]
  %171 = phi i64 [ %179, %169 ], [ 0, %166 ]
  %172 = getelementptr inbounds nuw i64, ptr %161, i64 %171
  %173 = load i64, ptr %172, align 8
  %174 = getelementptr inbounds nuw %struct.TernNumber, ptr %89, i64 %171
  %175 = getelementptr inbounds nuw i8, ptr %174, i64 8
  %176 = load i64, ptr %175, align 8
  %177 = xor i64 %176, %173
  %178 = or i64 %177, %170
  %179 = add nuw nsw i64 %171, 1
  %180 = icmp eq i64 %179, %167
  br i1 %180, label %213, label %169

181:
  %182 = getelementptr inbounds nuw i8, ptr %85, i64 64
  %183 = load i64, ptr %182, align 8
  %184 = load i64, ptr %127, align 8
  %185 = icmp sgt i64 %184, 0
  br i1 %185, label %186, label %213

186:
  %187 = phi i64 [ %208, %207 ], [ %184, %181 ]
  %188 = phi i64 [ %210, %207 ], [ %183, %181 ]
  %189 = phi i64 [ %209, %207 ], [ %159, %181 ]
  %190 = phi i64 [ %211, %207 ], [ 0, %181 ]
  %191 = getelementptr inbounds nuw %struct.TernNumber, ptr %89, i64 %190
  %192 = load i64, ptr %191, align 8
  %193 = getelementptr inbounds nuw i8, ptr %191, i64 8
  %194 = load i64, ptr %193, align 8
  %195 = getelementptr inbounds nuw i64, ptr %161, i64 %190
  %196 = load i64, ptr %195, align 8
  switch i64 %192, label %200 [
    i64 2, label %197
    i64 0, label %203
  ]

197:
  %198 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %194
  store i64 %196, ptr %198, align 8
  %199 = load i64, ptr %127, align 8
  br label %207

200:
  %201 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %194
  %202 = load i64, ptr %201, align 8
  br label %203

203:
  %204 = phi i64 [ %202, %200 ], [ %194, %186 ]
  %205 = xor i64 %204, %196
  %206 = or i64 %205, %189
  br label %207

207:
  %208 = phi i64 [ %199, %197 ], [ %187, %203 ]
  %209 = phi i64 [ %189, %197 ], [ %206, %203 ]
  %210 = mul nsw i64 %196, %188
  %211 = add nuw nsw i64 %190, 1
  %212 = icmp slt i64 %211, %208
  br i1 %212, label %186, label %213

213:
  %214 = phi i64 [ %209, %207 ], [ %159, %181 ], [ %159, %166 ], [ %178, %169 ]
  %215 = phi i64 [ %210, %207 ], [ %183, %181 ], [ %94, %166 ], [ %94, %169 ]
  %216 = getelementptr inbounds nuw i8, ptr %106, i64 32
  %217 = load ptr, ptr %216, align 8
  %218 = icmp eq ptr %217, null
  br i1 %218, label %247, label %219

219:
  %220 = load i32, ptr %124, align 8
  %221 = icmp sgt i32 %220, 0
  br i1 %221, label %222, label %247

222:
  %223 = zext nneg i32 %220 to i64
  %224 = load ptr, ptr %160, align 8
  br label %225

225:
  %226 = phi i64 [ %223, %222 ], [ %229, %238 ]
  %227 = phi i32 [ 1, %222 ], [ %240, %238 ]
  %228 = phi i64 [ 1, %222 ], [ %241, %238 ]
  %229 = add nsw i64 %226, -1
  %230 = getelementptr inbounds i64, ptr %224, i64 %229
  %231 = load i64, ptr %230, align 8
  %232 = icmp eq i64 %231, 1
  br i1 %232, label %238, label %233

233:
  %234 = getelementptr inbounds i64, ptr %217, i64 %229
  %235 = load i64, ptr %234, align 8
  %236 = icmp eq i64 %235, %228
  %237 = zext i1 %236 to i32
  br label %238

238:
  %239 = phi i32 [ 1, %225 ], [ %237, %233 ]
  %240 = and i32 %239, %227
  %241 = mul nsw i64 %231, %228
  %242 = icmp samesign ugt i64 %226, 1
  br i1 %242, label %225, label %243

243:
  %244 = icmp eq i32 %240, 0
  %245 = icmp ne i64 %241, 0
  %246 = select i1 %244, i1 %245, i1 false
  br i1 %246, label %312, label %247

247:
  %248 = load ptr, ptr %106, align 8
  %249 = getelementptr inbounds nuw i8, ptr %106, i64 40
  %250 = load i64, ptr %249, align 8
  %251 = getelementptr inbounds nuw i8, ptr %248, i64 %250
  store ptr %251, ptr %92, align 8
  %252 = ptrtoint ptr %251 to i64
  %253 = getelementptr inbounds nuw i8, ptr %92, i64 8
  store i64 %252, ptr %253, align 8
  %254 = add nsw i64 %215, %252
  %255 = getelementptr inbounds nuw i8, ptr %92, i64 16
  store i64 %254, ptr %255, align 8
  %256 = getelementptr inbounds nuw i8, ptr %85, i64 56
  %257 = load i64, ptr %256, align 8
  %258 = add nsw i64 %257, -1
  %259 = and i64 %258, %252
  %260 = or i64 %259, %214
  %261 = load i64, ptr %15, align 8
  br label %262

262:
  %263 = phi i64 [ %261, %247 ], [ %84, %83 ]
  %264 = phi i32 [ %158, %247 ], [ %88, %83 ]
  %265 = phi i64 [ %260, %247 ], [ %86, %83 ]
  %266 = add nuw nsw i64 %87, 1
  %267 = load i64, ptr %85, align 8
  %268 = getelementptr inbounds i64, ptr %85, i64 %267
  %269 = icmp slt i64 %266, %263
  br i1 %269, label %83, label %270

270:
  %271 = icmp eq i64 %265, 0
  br i1 %271, label %272, label %312

272:
  %273 = phi ptr [ %268, %270 ], [ %22, %77 ], [ %22, %25 ]
  %274 = getelementptr inbounds nuw i8, ptr %4, i64 56
  %275 = load i64, ptr %274, align 8
  %276 = icmp sgt i64 %275, 0
  br i1 %276, label %277, label %314

277:
  %278 = load i64, ptr %9, align 8
  %279 = and i64 %278, 1
  %280 = icmp eq i64 %279, 0
  br label %281

281:
  %282 = phi i64 [ 0, %277 ], [ %310, %309 ]
  %283 = getelementptr inbounds nuw %struct.TernPair, ptr %273, i64 %282
  %284 = load i64, ptr %283, align 8
  %285 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %284
  %286 = getelementptr inbounds nuw i8, ptr %283, i64 8
  %287 = load i64, ptr %286, align 8
  %288 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %287
  %289 = getelementptr inbounds nuw i8, ptr %285, i64 8
  %290 = load i64, ptr %289, align 8
  %291 = getelementptr inbounds nuw i8, ptr %285, i64 16
  %292 = load i64, ptr %291, align 8
  %293 = getelementptr inbounds nuw i8, ptr %288, i64 8
  %294 = load i64, ptr %293, align 8
  %295 = getelementptr inbounds nuw i8, ptr %288, i64 16
  %296 = load i64, ptr %295, align 8
  br i1 %280, label %297, label %301

297:
  %298 = load ptr, ptr %285, align 8
  %299 = load ptr, ptr %288, align 8
  %300 = icmp eq ptr %298, %299
  br i1 %300, label %301, label %309

301:
  %302 = icmp ugt i64 %292, %294
  %303 = icmp ugt i64 %296, %290
  %304 = select i1 %302, i1 %303, i1 false
  %305 = icmp ne i64 %290, %292
  %306 = select i1 %304, i1 %305, i1 false
  %307 = icmp ne i64 %294, %296
  %308 = select i1 %306, i1 %307, i1 false
  br i1 %308, label %312, label %309

309:
  %310 = add nuw nsw i64 %282, 1
  %311 = icmp eq i64 %310, %275
  br i1 %311, label %314, label %281

312:
  %313 = tail call fastcc signext i32 @tern_check_in_order(ptr noundef %0, ptr noundef %1, i32 noundef signext %2, ptr noundef %3, ptr noundef %4, i32 noundef signext %5) #7
  br label %314

314:
  %315 = phi i32 [ %313, %312 ], [ 0, %272 ], [ 0, %309 ]
  ret i32 %315
}

declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

define internal fastcc signext range(i32 -1, 1) i32 @tern_check_in_order(ptr noundef %0, ptr noundef %1, i32 noundef signext %2, ptr noundef captures(none) %3, ptr noundef %4, i32 noundef signext %5) unnamed_addr #2 {
  %7 = alloca %struct.TernChecked, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #8
  store ptr %0, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store ptr %4, ptr %8, align 8
  %9 = getelementptr inbounds nuw i8, ptr %7, i64 16
  store ptr null, ptr %9, align 8
  %10 = getelementptr inbounds nuw i8, ptr %7, i64 24
  store ptr null, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %7, i64 32
  store i32 0, ptr %11, align 8
  %12 = and i32 %5, 1
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %29, label %14

14:
  %15 = sext i32 %2 to i64
  %16 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %17 = load i64, ptr %16, align 8
  %18 = icmp eq i64 %17, %15
  br i1 %18, label %20, label %19

19:
  call fastcc void @tern_expected_arguments(ptr noundef %7, i64 noundef %15) #7
  br label %120

20:
  %21 = call fastcc signext i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef signext 0) #9
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %120

23:
  %24 = call fastcc signext i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef signext 1) #9
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %26, label %120

26:
  %27 = call fastcc signext i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef signext 2) #9
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %29, label %120

29:
  %30 = and i32 %5, 2
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %120, label %32

32:
  %33 = call fastcc signext i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef signext 3) #9
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %35, label %120

35:
  %36 = getelementptr inbounds nuw i8, ptr %4, i64 64
  %37 = getelementptr inbounds nuw i8, ptr %4, i64 48
  %38 = load i64, ptr %37, align 8
  %39 = getelementptr inbounds i64, ptr %36, i64 %38
  %40 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %41 = load i64, ptr %40, align 8
  %42 = icmp sgt i64 %41, 0
  br i1 %42, label %43, label %50

43:
  %44 = phi i64 [ %48, %43 ], [ 0, %35 ]
  %45 = phi ptr [ %47, %43 ], [ %39, %35 ]
  %46 = load i64, ptr %45, align 8
  %47 = getelementptr inbounds i64, ptr %45, i64 %46
  %48 = add nuw nsw i64 %44, 1
  %49 = icmp eq i64 %48, %41
  br i1 %49, label %50, label %43

50:
  %51 = phi ptr [ %39, %35 ], [ %47, %43 ]
  %52 = getelementptr inbounds nuw i8, ptr %4, i64 56
  %53 = load i64, ptr %52, align 8
  %54 = icmp sgt i64 %53, 0
  br i1 %54, label %55, label %120

55:
  %56 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %57 = load i64, ptr %56, align 8
  %58 = and i64 %57, 1
  %59 = icmp eq i64 %58, 0
  br label %60

60:
  %61 = phi i64 [ 0, %55 ], [ %89, %88 ]
  %62 = getelementptr inbounds nuw %struct.TernPair, ptr %51, i64 %61
  %63 = load i64, ptr %62, align 8
  %64 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %63
  %65 = getelementptr inbounds nuw i8, ptr %62, i64 8
  %66 = load i64, ptr %65, align 8
  %67 = getelementptr inbounds %union.TernSlot, ptr %3, i64 %66
  %68 = getelementptr inbounds nuw i8, ptr %64, i64 8
  %69 = load i64, ptr %68, align 8
  %70 = getelementptr inbounds nuw i8, ptr %64, i64 16
  %71 = load i64, ptr %70, align 8
  %72 = getelementptr inbounds nuw i8, ptr %67, i64 8
  %73 = load i64, ptr %72, align 8
  %74 = getelementptr inbounds nuw i8, ptr %67, i64 16
  %75 = load i64, ptr %74, align 8
  br i1 %59, label %76, label %80

76:
  %77 = load ptr, ptr %64, align 8
  %78 = load ptr, ptr %67, align 8
  %79 = icmp eq ptr %77, %78
  br i1 %79, label %80, label %88

80:
  %81 = icmp ugt i64 %71, %73
  %82 = icmp ugt i64 %75, %69
  %83 = select i1 %81, i1 %82, i1 false
  %84 = icmp ne i64 %69, %71
  %85 = select i1 %83, i1 %84, i1 false
  %86 = icmp ne i64 %73, %75
  %87 = select i1 %85, i1 %86, i1 false
  br i1 %87, label %91, label %88

88:
  %89 = add nuw nsw i64 %61, 1
  %90 = icmp eq i64 %89, %53
  br i1 %90, label %120, label %60

91:
  %92 = getelementptr inbounds nuw i8, ptr %39, i64 32
  %93 = load i64, ptr %92, align 8
  %94 = icmp eq i64 %93, %63
  br i1 %94, label %104, label %95

95:
  %96 = phi ptr [ %99, %95 ], [ %39, %91 ]
  %97 = phi i32 [ %100, %95 ], [ 0, %91 ]
  %98 = load i64, ptr %96, align 8
  %99 = getelementptr inbounds i64, ptr %96, i64 %98
  %100 = add nuw nsw i32 %97, 1
  %101 = getelementptr inbounds nuw i8, ptr %99, i64 32
  %102 = load i64, ptr %101, align 8
  %103 = icmp eq i64 %102, %63
  br i1 %103, label %104, label %95

104:
  %105 = phi i32 [ 0, %91 ], [ %100, %95 ]
  %106 = phi ptr [ %39, %91 ], [ %99, %95 ]
  store i32 0, ptr %11, align 8
  %107 = icmp eq i64 %93, %66
  br i1 %107, label %118, label %108

108:
  %109 = phi ptr [ %112, %108 ], [ %39, %104 ]
  %110 = phi i32 [ %113, %108 ], [ 0, %104 ]
  %111 = load i64, ptr %109, align 8
  %112 = getelementptr inbounds i64, ptr %109, i64 %111
  %113 = add nuw nsw i32 %110, 1
  %114 = getelementptr inbounds nuw i8, ptr %112, i64 32
  %115 = load i64, ptr %114, align 8
  %116 = icmp eq i64 %115, %66
  br i1 %116, label %117, label %108

117:
  store i32 %113, ptr %11, align 8
  br label %118

118:
  %119 = phi ptr [ %39, %104 ], [ %112, %117 ]
  store ptr %119, ptr %9, align 8
  call fastcc void @tern_expected_apart(ptr noundef %7, ptr noundef nonnull %106, i32 noundef signext %105) #7
  br label %120

120:
  %121 = phi i32 [ -1, %19 ], [ -1, %20 ], [ 0, %29 ], [ -1, %118 ], [ -1, %32 ], [ -1, %26 ], [ -1, %23 ], [ 0, %50 ], [ 0, %88 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #8
  ret i32 %121
}

declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

define internal fastcc void @tern_expected_arguments(ptr noundef nonnull readonly captures(none) %0, i64 noundef range(i64 -2147483648, 2147483648) %1) unnamed_addr #2 {
  %3 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 256
  store i32 0, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %6 = load ptr, ptr %5, align 8
  %7 = load i64, ptr %6, align 8
  %8 = getelementptr inbounds i8, ptr %6, i64 %7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull %8) #7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull @.str) #7
  %9 = load ptr, ptr %5, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 8
  %11 = load i64, ptr %10, align 8
  call fastcc void @tern_add_number(ptr noundef %3, i64 noundef %11) #7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull @.str.1) #7
  call fastcc void @tern_add_number(ptr noundef %3, i64 noundef %1) #7
  %12 = load ptr, ptr %0, align 8
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 16
  %14 = load ptr, ptr %13, align 8
  %15 = load i32, ptr %4, align 8
  call void %14(ptr noundef %12, ptr noundef nonnull @.str.2, ptr noundef nonnull %3, i32 noundef signext %15) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #8
  ret void
}

define internal fastcc signext range(i32 -1, 1) i32 @tern_check_all(ptr noundef nonnull captures(none) initializes((16, 24), (32, 36)) %0, ptr noundef %1, ptr noundef captures(none) %2, i32 noundef signext range(i32 0, 4) %3) unnamed_addr #0 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 64
  %8 = getelementptr inbounds nuw i8, ptr %6, i64 48
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr inbounds i64, ptr %7, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 16
  store ptr %10, ptr %11, align 8
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 32
  store i32 0, ptr %12, align 8
  %13 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %14 = load i64, ptr %13, align 8
  %15 = icmp sgt i64 %14, 0
  br i1 %15, label %16, label %414

16:
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %18 = icmp eq i32 %3, 0
  br label %19

19:
  %20 = phi ptr [ %10, %16 ], [ %406, %402 ]
  %21 = phi ptr [ %6, %16 ], [ %410, %402 ]
  %22 = phi i64 [ 0, %16 ], [ %409, %402 ]
  %23 = phi i32 [ 1, %16 ], [ %403, %402 ]
  %24 = getelementptr inbounds nuw i8, ptr %20, i64 24
  %25 = load i64, ptr %24, align 8
  %26 = icmp eq i64 %25, 5
  %27 = getelementptr inbounds %struct.TernAny, ptr %1, i64 %22
  store ptr %27, ptr %17, align 8
  br i1 %18, label %28, label %81

28:
  br i1 %26, label %402, label %29

29:
  %30 = getelementptr inbounds nuw i8, ptr %20, i64 16
  %31 = load i64, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %20, i64 32
  %33 = load i64, ptr %32, align 8
  %34 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %33
  %35 = load i32, ptr %27, align 8
  %36 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %37 = load i64, ptr %36, align 8
  %38 = load i64, ptr %24, align 8
  %39 = bitcast i64 %37 to double
  %40 = inttoptr i64 %37 to ptr
  switch i64 %38, label %56 [
    i64 0, label %41
    i64 1, label %45
  ]

41:
  switch i32 %35, label %42 [
    i32 4, label %44
    i32 0, label %44
  ]

42:
  %43 = getelementptr inbounds i8, ptr %21, i64 %31
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %43, ptr noundef nonnull @.str.3) #7
  br label %414

44:
  store ptr %40, ptr %34, align 8
  br label %402

45:
  %46 = add i32 %35, -1
  %47 = icmp ult i32 %46, 2
  br i1 %47, label %52, label %48

48:
  %49 = icmp eq i32 %35, 3
  br i1 %49, label %54, label %50

50:
  %51 = getelementptr inbounds i8, ptr %21, i64 %31
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %51, ptr noundef nonnull @.str.3) #7
  br label %414

52:
  %53 = sitofp i64 %37 to double
  br label %54

54:
  %55 = phi double [ %53, %52 ], [ %39, %48 ]
  store double %55, ptr %34, align 8
  br label %402

56:
  %57 = add i32 %35, -1
  %58 = icmp ult i32 %57, 2
  br i1 %58, label %61, label %59

59:
  %60 = getelementptr inbounds i8, ptr %21, i64 %31
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %60, ptr noundef nonnull @.str.3) #7
  br label %414

61:
  store i64 %37, ptr %34, align 8
  %62 = getelementptr inbounds nuw i8, ptr %20, i64 40
  %63 = load i64, ptr %62, align 8
  %64 = icmp sgt i64 %63, 63
  br i1 %64, label %402, label %65

65:
  %66 = load i64, ptr %24, align 8
  switch i64 %66, label %74 [
    i64 4, label %402
    i64 2, label %67
  ]

67:
  %68 = add nsw i64 %63, -1
  %69 = shl nuw nsw i64 1, %68
  %70 = sub nsw i64 0, %69
  %71 = icmp sge i64 %37, %70
  %72 = icmp slt i64 %37, %69
  %73 = and i1 %71, %72
  br i1 %73, label %402, label %79

74:
  %75 = icmp sgt i64 %37, -1
  %76 = shl nuw i64 1, %63
  %77 = icmp slt i64 %37, %76
  %78 = select i1 %75, i1 %77, i1 false
  br i1 %78, label %402, label %79

79:
  %80 = getelementptr inbounds i8, ptr %21, i64 %31
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef %80, ptr noundef nonnull @.str.5) #7
  br label %414

81:
  br i1 %26, label %82, label %402

82:
  switch i32 %3, label %238 [
    i32 1, label %83
    i32 2, label %194
  ]

83:
  %84 = load i32, ptr %27, align 8
  switch i32 %84, label %85 [
    i32 7, label %86
    i32 70, label %86
  ]

85:
  tail call fastcc void @tern_expected_tensor(ptr noundef nonnull readonly %0) #7
  br label %414

86:
  %87 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %88 = load ptr, ptr %87, align 8
  %89 = icmp eq i32 %84, 70
  %90 = select i1 %89, i64 24, i64 0
  %91 = getelementptr inbounds nuw i8, ptr %88, i64 %90
  %92 = getelementptr inbounds nuw i8, ptr %91, i64 20
  %93 = load i8, ptr %92, align 4
  %94 = zext i8 %93 to i64
  %95 = getelementptr inbounds nuw i8, ptr %91, i64 21
  %96 = load i8, ptr %95, align 1
  %97 = zext i8 %96 to i64
  %98 = shl nuw nsw i64 %97, 8
  %99 = or disjoint i64 %98, %94
  %100 = getelementptr inbounds nuw i8, ptr %91, i64 22
  %101 = load i16, ptr %100, align 2
  %102 = zext i16 %101 to i64
  %103 = shl nuw nsw i64 %102, 16
  %104 = or disjoint i64 %99, %103
  %105 = getelementptr inbounds nuw i8, ptr %20, i64 40
  %106 = load i64, ptr %105, align 8
  %107 = icmp eq i64 %104, %106
  br i1 %107, label %108, label %115

108:
  %109 = getelementptr inbounds nuw i8, ptr %91, i64 16
  %110 = load i32, ptr %109, align 8
  %111 = sext i32 %110 to i64
  %112 = getelementptr inbounds nuw i8, ptr %20, i64 48
  %113 = load i64, ptr %112, align 8
  %114 = icmp eq i64 %113, %111
  br i1 %114, label %116, label %115

115:
  tail call fastcc void @tern_expected_tensor(ptr noundef nonnull readonly %0) #7
  br label %414

116:
  %117 = getelementptr inbounds nuw i8, ptr %91, i64 8
  %118 = load i32, ptr %117, align 8
  %119 = sext i32 %118 to i64
  %120 = getelementptr inbounds nuw i8, ptr %21, i64 16
  %121 = load i64, ptr %120, align 8
  %122 = icmp eq i64 %121, %119
  br i1 %122, label %127, label %123

123:
  %124 = getelementptr inbounds nuw i8, ptr %21, i64 24
  %125 = load i64, ptr %124, align 8
  %126 = getelementptr inbounds i8, ptr %21, i64 %125
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.10, ptr noundef %126) #7
  br label %414

127:
  %128 = getelementptr inbounds nuw i8, ptr %21, i64 32
  %129 = load i64, ptr %128, align 8
  %130 = and i64 %129, 2
  %131 = icmp eq i64 %130, 0
  br i1 %131, label %132, label %146

132:
  %133 = icmp eq i32 %23, 0
  %134 = getelementptr inbounds nuw i8, ptr %91, i64 12
  %135 = load i32, ptr %134, align 4
  %136 = sext i32 %135 to i64
  %137 = getelementptr inbounds nuw i8, ptr %21, i64 40
  %138 = load i64, ptr %137, align 8
  %139 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %138
  br i1 %133, label %142, label %140

140:
  store i64 %136, ptr %139, align 8
  %141 = load i64, ptr %112, align 8
  br label %146

142:
  %143 = load i64, ptr %139, align 8
  %144 = icmp eq i64 %143, %136
  br i1 %144, label %146, label %145

145:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.11, ptr noundef nonnull @.str.3) #7
  br label %414

146:
  %147 = phi i64 [ %141, %140 ], [ %111, %142 ], [ %111, %127 ]
  %148 = getelementptr inbounds nuw i8, ptr %20, i64 112
  %149 = getelementptr inbounds nuw i8, ptr %91, i64 24
  %150 = load ptr, ptr %149, align 8
  %151 = icmp sgt i64 %147, 0
  br i1 %151, label %152, label %166

152:
  %153 = phi i64 [ %164, %163 ], [ 0, %146 ]
  %154 = getelementptr inbounds nuw %struct.TernNumber, ptr %148, i64 %153
  %155 = load i64, ptr %154, align 8
  %156 = icmp eq i64 %155, 2
  br i1 %156, label %157, label %163

157:
  %158 = getelementptr inbounds nuw i64, ptr %150, i64 %153
  %159 = load i64, ptr %158, align 8
  %160 = getelementptr inbounds nuw i8, ptr %154, i64 8
  %161 = load i64, ptr %160, align 8
  %162 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %161
  store i64 %159, ptr %162, align 8
  br label %163

163:
  %164 = add nuw nsw i64 %153, 1
  %165 = icmp eq i64 %164, %147
  br i1 %165, label %166, label %152

166:
  %167 = getelementptr inbounds nuw i8, ptr %20, i64 72
  %168 = load i64, ptr %167, align 8
  %169 = and i64 %168, 1
  %170 = icmp eq i64 %169, 0
  br i1 %170, label %402, label %171

171:
  %172 = getelementptr inbounds nuw i8, ptr %91, i64 32
  %173 = load ptr, ptr %172, align 8
  %174 = icmp eq ptr %173, null
  br i1 %174, label %175, label %176

175:
  tail call fastcc void @tern_expected_strides(ptr noundef nonnull readonly %0) #7
  br label %414

176:
  %177 = load i64, ptr %112, align 8
  %178 = getelementptr inbounds %struct.TernNumber, ptr %148, i64 %177
  %179 = icmp sgt i64 %177, 0
  br i1 %179, label %180, label %402

180:
  %181 = phi i64 [ %192, %191 ], [ 0, %176 ]
  %182 = getelementptr inbounds nuw %struct.TernNumber, ptr %178, i64 %181
  %183 = load i64, ptr %182, align 8
  %184 = icmp eq i64 %183, 2
  br i1 %184, label %185, label %191

185:
  %186 = getelementptr inbounds nuw i64, ptr %173, i64 %181
  %187 = load i64, ptr %186, align 8
  %188 = getelementptr inbounds nuw i8, ptr %182, i64 8
  %189 = load i64, ptr %188, align 8
  %190 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %189
  store i64 %187, ptr %190, align 8
  br label %191

191:
  %192 = add nuw nsw i64 %181, 1
  %193 = icmp eq i64 %192, %177
  br i1 %193, label %402, label %180

194:
  %195 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %196 = load ptr, ptr %195, align 8
  %197 = load i32, ptr %27, align 8
  %198 = icmp eq i32 %197, 70
  %199 = select i1 %198, i64 24, i64 0
  %200 = getelementptr inbounds nuw i8, ptr %196, i64 %199
  %201 = getelementptr inbounds nuw i8, ptr %20, i64 32
  %202 = load i64, ptr %201, align 8
  %203 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %202
  %204 = getelementptr inbounds nuw i8, ptr %21, i64 32
  %205 = load i64, ptr %204, align 8
  %206 = and i64 %205, 1
  %207 = icmp eq i64 %206, 0
  %208 = getelementptr inbounds nuw i8, ptr %200, i64 40
  %209 = load i64, ptr %208, align 8
  %210 = getelementptr inbounds nuw i8, ptr %20, i64 56
  %211 = load i64, ptr %210, align 8
  %212 = load ptr, ptr %200, align 8
  br i1 %207, label %218, label %213

213:
  %214 = getelementptr inbounds nuw i8, ptr %212, i64 %209
  store ptr %214, ptr %203, align 8
  %215 = ptrtoint ptr %214 to i64
  %216 = sub i64 0, %211
  %217 = and i64 %211, %216
  br label %230

218:
  store ptr %212, ptr %203, align 8
  %219 = load i64, ptr %208, align 8
  %220 = getelementptr inbounds nuw i8, ptr %20, i64 80
  %221 = load i64, ptr %220, align 8
  %222 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %221
  store i64 %219, ptr %222, align 8
  %223 = getelementptr inbounds nuw i8, ptr %20, i64 72
  %224 = load i64, ptr %223, align 8
  %225 = and i64 %224, 2
  %226 = icmp eq i64 %225, 0
  %227 = icmp eq i64 %219, 0
  %228 = select i1 %226, i1 true, i1 %227
  br i1 %228, label %230, label %229

229:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.14, ptr noundef nonnull @.str.3) #7
  br label %414

230:
  %231 = phi i64 [ %215, %213 ], [ %209, %218 ]
  %232 = phi i64 [ %217, %213 ], [ %211, %218 ]
  %233 = urem i64 %231, %232
  %234 = icmp eq i64 %233, 0
  br i1 %234, label %236, label %235

235:
  tail call fastcc void @tern_expected_aligned(ptr noundef nonnull readonly %0) #7
  br label %414

236:
  %237 = getelementptr inbounds nuw i8, ptr %203, i64 8
  store i64 %231, ptr %237, align 8
  br label %402

238:
  %239 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %240 = load ptr, ptr %239, align 8
  %241 = load i32, ptr %27, align 8
  %242 = icmp eq i32 %241, 70
  %243 = select i1 %242, i64 24, i64 0
  %244 = getelementptr inbounds nuw i8, ptr %240, i64 %243
  %245 = getelementptr inbounds nuw i8, ptr %20, i64 112
  %246 = getelementptr inbounds nuw i8, ptr %20, i64 48
  %247 = load i64, ptr %246, align 8
  %248 = getelementptr inbounds %struct.TernNumber, ptr %245, i64 %247
  %249 = icmp sgt i64 %247, 0
  br i1 %249, label %250, label %277

250:
  %251 = getelementptr inbounds nuw i8, ptr %244, i64 24
  %252 = load ptr, ptr %251, align 8
  br label %253

253:
  %254 = phi i64 [ 0, %250 ], [ %270, %269 ]
  %255 = getelementptr inbounds nuw %struct.TernNumber, ptr %245, i64 %254
  %256 = load i64, ptr %255, align 8
  %257 = icmp eq i64 %256, 0
  %258 = getelementptr inbounds nuw i8, ptr %255, i64 8
  br i1 %257, label %262, label %259

259:
  %260 = load i64, ptr %258, align 8
  %261 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %260
  br label %262

262:
  %263 = phi ptr [ %261, %259 ], [ %258, %253 ]
  %264 = load i64, ptr %263, align 8
  %265 = getelementptr inbounds nuw i64, ptr %252, i64 %254
  %266 = load i64, ptr %265, align 8
  %267 = icmp eq i64 %266, %264
  br i1 %267, label %269, label %268

268:
  tail call fastcc void @tern_expected_number(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.17, i64 noundef %254, ptr noundef nonnull %255, i64 noundef %264) #7
  br label %414

269:
  %270 = add nuw nsw i64 %254, 1
  %271 = icmp eq i64 %270, %247
  br i1 %271, label %272, label %253

272:
  %273 = getelementptr inbounds nuw i8, ptr %20, i64 72
  %274 = load i64, ptr %273, align 8
  %275 = and i64 %274, 1
  %276 = icmp eq i64 %275, 0
  br i1 %276, label %304, label %282

277:
  %278 = getelementptr inbounds nuw i8, ptr %20, i64 72
  %279 = load i64, ptr %278, align 8
  %280 = and i64 %279, 1
  %281 = icmp eq i64 %280, 0
  br i1 %281, label %304, label %339

282:
  %283 = getelementptr inbounds nuw i8, ptr %244, i64 32
  %284 = load ptr, ptr %283, align 8
  br label %285

285:
  %286 = phi i64 [ 0, %282 ], [ %302, %301 ]
  %287 = getelementptr inbounds nuw %struct.TernNumber, ptr %248, i64 %286
  %288 = load i64, ptr %287, align 8
  %289 = icmp eq i64 %288, 0
  %290 = getelementptr inbounds nuw i8, ptr %287, i64 8
  br i1 %289, label %294, label %291

291:
  %292 = load i64, ptr %290, align 8
  %293 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %292
  br label %294

294:
  %295 = phi ptr [ %293, %291 ], [ %290, %285 ]
  %296 = load i64, ptr %295, align 8
  %297 = getelementptr inbounds nuw i64, ptr %284, i64 %286
  %298 = load i64, ptr %297, align 8
  %299 = icmp eq i64 %298, %296
  br i1 %299, label %301, label %300

300:
  tail call fastcc void @tern_expected_number(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.18, i64 noundef %286, ptr noundef nonnull %287, i64 noundef %296) #7
  br label %414

301:
  %302 = add nuw nsw i64 %286, 1
  %303 = icmp eq i64 %302, %247
  br i1 %303, label %339, label %285

304:
  %305 = getelementptr inbounds nuw i8, ptr %244, i64 32
  %306 = load ptr, ptr %305, align 8
  %307 = icmp eq ptr %306, null
  br i1 %307, label %339, label %308

308:
  %309 = getelementptr inbounds nuw i8, ptr %244, i64 16
  %310 = load i32, ptr %309, align 8
  %311 = icmp sgt i32 %310, 0
  br i1 %311, label %312, label %339

312:
  %313 = zext nneg i32 %310 to i64
  %314 = getelementptr inbounds nuw i8, ptr %244, i64 24
  %315 = load ptr, ptr %314, align 8
  br label %316

316:
  %317 = phi i64 [ %313, %312 ], [ %320, %329 ]
  %318 = phi i32 [ 1, %312 ], [ %331, %329 ]
  %319 = phi i64 [ 1, %312 ], [ %332, %329 ]
  %320 = add nsw i64 %317, -1
  %321 = getelementptr inbounds i64, ptr %315, i64 %320
  %322 = load i64, ptr %321, align 8
  %323 = icmp eq i64 %322, 1
  br i1 %323, label %329, label %324

324:
  %325 = getelementptr inbounds i64, ptr %306, i64 %320
  %326 = load i64, ptr %325, align 8
  %327 = icmp eq i64 %326, %319
  %328 = zext i1 %327 to i32
  br label %329

329:
  %330 = phi i32 [ 1, %316 ], [ %328, %324 ]
  %331 = and i32 %330, %318
  %332 = mul nsw i64 %322, %319
  %333 = icmp samesign ugt i64 %317, 1
  br i1 %333, label %316, label %334

334:
  %335 = icmp eq i32 %331, 0
  %336 = icmp ne i64 %332, 0
  %337 = select i1 %335, i1 %336, i1 false
  br i1 %337, label %338, label %339

338:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.19, ptr noundef nonnull @.str.3) #7
  br label %414

339:
  %340 = phi i1 [ false, %277 ], [ true, %334 ], [ true, %308 ], [ true, %304 ], [ false, %301 ]
  %341 = getelementptr inbounds nuw i8, ptr %20, i64 96
  %342 = load i64, ptr %341, align 8
  %343 = icmp eq i64 %342, 0
  %344 = getelementptr inbounds nuw i8, ptr %20, i64 104
  br i1 %343, label %348, label %345

345:
  %346 = load i64, ptr %344, align 8
  %347 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %346
  br label %348

348:
  %349 = phi ptr [ %347, %345 ], [ %344, %339 ]
  %350 = load i64, ptr %349, align 8
  %351 = getelementptr inbounds nuw i8, ptr %20, i64 32
  %352 = load i64, ptr %351, align 8
  br i1 %249, label %353, label %388

353:
  %354 = getelementptr inbounds nuw i8, ptr %244, i64 24
  %355 = load ptr, ptr %354, align 8
  br label %356

356:
  %357 = phi i64 [ 0, %353 ], [ %363, %356 ]
  %358 = phi i64 [ 1, %353 ], [ %362, %356 ]
  %359 = getelementptr inbounds nuw i64, ptr %355, i64 %357
  %360 = load i64, ptr %359, align 8
  %361 = freeze i64 %360
  %362 = mul i64 %361, %358
  %363 = add nuw nsw i64 %357, 1
  %364 = icmp eq i64 %363, %247
  br i1 %364, label %365, label %356

365:
  br i1 %340, label %388, label %366

366:
  %367 = getelementptr inbounds nuw i8, ptr %244, i64 32
  %368 = load ptr, ptr %367, align 8
  br label %369

369:
  %370 = phi i64 [ 0, %366 ], [ %383, %369 ]
  %371 = phi i64 [ 1, %366 ], [ %382, %369 ]
  %372 = phi i64 [ %350, %366 ], [ %380, %369 ]
  %373 = getelementptr inbounds nuw i64, ptr %355, i64 %370
  %374 = load i64, ptr %373, align 8
  %375 = add nsw i64 %374, -1
  %376 = getelementptr inbounds nuw i64, ptr %368, i64 %370
  %377 = load i64, ptr %376, align 8
  %378 = mul nsw i64 %377, %375
  %379 = tail call i64 @llvm.smin.i64(i64 %378, i64 0)
  %380 = add nsw i64 %379, %372
  %381 = tail call i64 @llvm.abs.i64(i64 %378, i1 true)
  %382 = add nuw nsw i64 %381, %371
  %383 = add nuw nsw i64 %370, 1
  %384 = icmp eq i64 %383, %247
  br i1 %384, label %385, label %369

385:
  %386 = icmp eq i64 %362, 0
  %387 = select i1 %386, i64 0, i64 %382
  br label %388

388:
  %389 = phi i64 [ %350, %365 ], [ %380, %385 ], [ %350, %348 ]
  %390 = phi i64 [ %362, %365 ], [ %387, %385 ], [ 1, %348 ]
  %391 = getelementptr inbounds %union.TernSlot, ptr %2, i64 %352
  %392 = getelementptr inbounds nuw i8, ptr %20, i64 64
  %393 = load i64, ptr %392, align 8
  %394 = mul nsw i64 %393, %389
  %395 = getelementptr inbounds nuw i8, ptr %391, i64 8
  %396 = load i64, ptr %395, align 8
  %397 = add nsw i64 %396, %394
  store i64 %397, ptr %395, align 8
  %398 = load i64, ptr %392, align 8
  %399 = mul nsw i64 %398, %390
  %400 = add nsw i64 %399, %397
  %401 = getelementptr inbounds nuw i8, ptr %391, i64 16
  store i64 %400, ptr %401, align 8
  br label %402

402:
  %403 = phi i32 [ %23, %28 ], [ %23, %74 ], [ %23, %81 ], [ %23, %67 ], [ 0, %236 ], [ 0, %176 ], [ %23, %44 ], [ 0, %166 ], [ %23, %54 ], [ 0, %388 ], [ %23, %61 ], [ %23, %65 ], [ 0, %191 ]
  %404 = load ptr, ptr %11, align 8
  %405 = load i64, ptr %404, align 8
  %406 = getelementptr inbounds i64, ptr %404, i64 %405
  store ptr %406, ptr %11, align 8
  %407 = load i32, ptr %12, align 8
  %408 = add nsw i32 %407, 1
  store i32 %408, ptr %12, align 8
  %409 = sext i32 %408 to i64
  %410 = load ptr, ptr %5, align 8
  %411 = getelementptr inbounds nuw i8, ptr %410, i64 8
  %412 = load i64, ptr %411, align 8
  %413 = icmp sgt i64 %412, %409
  br i1 %413, label %19, label %414

414:
  %415 = phi i32 [ -1, %338 ], [ -1, %229 ], [ -1, %42 ], [ -1, %50 ], [ -1, %59 ], [ -1, %79 ], [ -1, %85 ], [ -1, %115 ], [ -1, %123 ], [ -1, %175 ], [ -1, %145 ], [ -1, %235 ], [ -1, %268 ], [ -1, %300 ], [ 0, %4 ], [ 0, %402 ]
  ret i32 %415
}

define internal fastcc void @tern_expected_apart(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef signext %2) unnamed_addr #2 {
  %4 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #8
  call fastcc void @tern_begin(ptr noundef %4, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.22) #7
  %5 = sext i32 %2 to i64
  call fastcc void @tern_add_number(ptr noundef %4, i64 noundef %5) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.7) #7
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr inbounds i8, ptr %7, i64 %9
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef %10) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.23) #7
  %11 = load ptr, ptr %0, align 8
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 16
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %4, i64 256
  %15 = load i32, ptr %14, align 8
  call void %13(ptr noundef %11, ptr noundef nonnull @.str.4, ptr noundef nonnull %4, i32 noundef signext %15) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #8
  ret void
}

define internal fastcc void @tern_add_text(ptr noundef nonnull captures(none) %0, ptr noundef %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 256
  %4 = load i32, ptr %3, align 8
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %3, align 8
  %6 = sext i32 %4 to i64
  %7 = getelementptr inbounds %struct.TernAny, ptr %0, i64 %6
  store i32 8, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %7, i64 4
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store ptr %1, ptr %9, align 8
  ret void
}

define internal fastcc void @tern_add_number(ptr noundef nonnull captures(none) %0, i64 noundef %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 256
  %4 = load i32, ptr %3, align 8
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %3, align 8
  %6 = sext i32 %4 to i64
  %7 = getelementptr inbounds %struct.TernAny, ptr %0, i64 %6
  store i32 1, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %7, i64 4
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store i64 %1, ptr %9, align 8
  ret void
}

define internal fastcc void @tern_expected(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) unnamed_addr #2 {
  %5 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #8
  call fastcc void @tern_begin(ptr noundef %5, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %5, ptr noundef %2) #7
  call fastcc void @tern_add_text(ptr noundef %5, ptr noundef %3) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef %1, ptr noundef %5) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #8
  ret void
}

define internal fastcc void @tern_begin(ptr noundef nonnull captures(none) initializes((256, 260)) %0, ptr noundef nonnull readonly captures(none) %1) unnamed_addr #4 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 256
  store i32 0, ptr %3, align 8
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %5 = load ptr, ptr %4, align 8
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr inbounds i8, ptr %5, i64 %6
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull %7) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.6) #7
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %9 = load i32, ptr %8, align 8
  %10 = sext i32 %9 to i64
  tail call fastcc void @tern_add_number(ptr noundef %0, i64 noundef %10) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.7) #7
  %11 = load ptr, ptr %4, align 8
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %13, i64 8
  %15 = load i64, ptr %14, align 8
  %16 = getelementptr inbounds i8, ptr %11, i64 %15
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef %16) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.8) #7
  ret void
}

define internal fastcc void @tern_refuse(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef nonnull %2) unnamed_addr #2 {
  tail call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.9) #7
  %4 = getelementptr inbounds nuw i8, ptr %2, i64 256
  %5 = load i32, ptr %4, align 8
  %6 = add nsw i32 %5, 1
  store i32 %6, ptr %4, align 8
  %7 = sext i32 %5 to i64
  %8 = getelementptr inbounds %struct.TernAny, ptr %2, i64 %7
  store i32 4, ptr %8, align 8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 4
  store i32 0, ptr %9, align 4
  %10 = getelementptr inbounds nuw i8, ptr %8, i64 8
  store i64 0, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %12 = load ptr, ptr %11, align 8
  store ptr %12, ptr %10, align 8
  %13 = load ptr, ptr %0, align 8
  %14 = getelementptr inbounds nuw i8, ptr %13, i64 16
  %15 = load ptr, ptr %14, align 8
  %16 = load i32, ptr %4, align 8
  tail call void %15(ptr noundef %13, ptr noundef %1, ptr noundef nonnull %2, i32 noundef signext %16) #10
  ret void
}

define internal fastcc void @tern_expected_tensor(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr inbounds i8, ptr %4, i64 %8
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef %9) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.12) #7
  %10 = load ptr, ptr %5, align 8
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 48
  %12 = load i64, ptr %11, align 8
  call fastcc void @tern_add_number(ptr noundef %2, i64 noundef %12) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.2, ptr noundef %2) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_strides(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.13) #7
  %3 = load ptr, ptr %0, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %2, i64 256
  %7 = load i32, ptr %6, align 8
  call void %5(ptr noundef %3, ptr noundef nonnull @.str.4, ptr noundef nonnull %2, i32 noundef signext %7) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_aligned(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.15) #7
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 56
  %6 = load i64, ptr %5, align 8
  call fastcc void @tern_add_number(ptr noundef %2, i64 noundef %6) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.16) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.4, ptr noundef %2) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_number(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i64 noundef %2, ptr noundef readonly captures(none) %3, i64 noundef %4) unnamed_addr #2 {
  %6 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #8
  call fastcc void @tern_begin(ptr noundef %6, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef %1) #7
  call fastcc void @tern_add_number(ptr noundef %6, i64 noundef %2) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef nonnull @.str.20) #7
  %7 = load i64, ptr %3, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %18, label %9

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 64
  %13 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr inbounds i64, ptr %12, i64 %14
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr inbounds i8, ptr %11, i64 %16
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef %17) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef nonnull @.str.21) #7
  br label %18

18:
  call fastcc void @tern_add_number(ptr noundef %6, i64 noundef %4) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.4, ptr noundef %6) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #8
  ret void
}

declare i64 @llvm.abs.i64(i64, i1 immarg) #5

declare i64 @llvm.smin.i64(i64, i64) #6

attributes #0 = { nounwind "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { cold noinline nounwind optsize "no-builtins" }
attributes #3 = { cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(argmem: readwrite) "no-builtins" }
attributes #4 = { cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "no-builtins" }
attributes #5 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { cold nobuiltin "no-builtins" }
attributes #8 = { nounwind }
attributes #9 = { nobuiltin "no-builtins" }
attributes #10 = { nobuiltin nounwind "no-builtins" }

